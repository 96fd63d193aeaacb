package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// explainFlag says what is wrong with a flag's value in words of the command
// line; pflag's are those of strconv.
func explainFlag(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	wanted := map[string]string{
		"int":    "a whole number",
		"uint64": "a whole number of 0 or more",
		"bool":   "true or false",
	}[invalid.GetFlag().Value.Type()]
	if errors.Is(err, strconv.ErrRange) {
		wanted = "in the range of numbers"
	}
	return fmt.Errorf("--%s: %q is not %s", invalid.GetFlag().Name, invalid.GetValue(), wanted)
}

// exactly is cobra.ExactArgs with a message that says which arguments there are.
func exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fmt.Errorf("wrong number of arguments, %d instead of %d: %s", len(args), n, c.UseLine())
	}
}
