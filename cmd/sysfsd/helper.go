package main

import (
	"fmt"
	"slices"
	"strings"
)

// helperName is the name under which mount(8) runs us for -t sysfsd.
const helperName = "mount.sysfsd"

// fromMount are options that mount(8) handles itself or passes on for the
// record. The mount is read-only whether it says ro or rw.
var fromMount = []string{
	"defaults", "rw", "ro", "suid", "nosuid", "dev", "nodev", "exec", "noexec", "auto", "noauto", "user", "nouser",
	"users", "owner", "group", "nofail", "_netdev", "async", "sync", "atime", "noatime", "relatime", "norelatime",
	"diratime", "nodiratime", "strictatime", "silent", "loud",
}

// helperArgs turns the arguments of a mount helper,
//
//	mount.sysfsd SPEC DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]
//
// into those of "sysfsd mount --daemon".
func helperArgs(args []string) ([]string, error) {
	out := []string{"mount", "--daemon"}
	var operands []string
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-o" || arg == "-t" || arg == "-N":
			if i++; i == len(args) {
				return nil, fmt.Errorf("%s: %s without a value", helperName, arg)
			}
			if arg == "-o" {
				flags, err := helperOptions(args[i])
				if err != nil {
					return nil, err
				}
				out = append(out, flags...)
			}
		case strings.HasPrefix(arg, "-") && strings.Trim(arg[1:], "sfnv") == "":
		default:
			operands = append(operands, arg)
		}
	}
	if len(operands) != 2 {
		return nil, fmt.Errorf("usage: %s SPEC DIR [-o OPTIONS]", helperName)
	}
	return append(out, "--", operands[1]), nil
}

// helperOptions turns -o a,b=c into --a --b=c. A list in a value is written with
// ':' where the flag has ',', which mount(8) takes for itself.
func helperOptions(list string) ([]string, error) {
	var flags []string
	for option := range strings.SplitSeq(list, ",") {
		name, value, hasValue := strings.Cut(option, "=")
		switch {
		case option == "" || slices.Contains(fromMount, name) || strings.HasPrefix(name, "x-") || name == "comment":
			continue
		case hasValue:
			flags = append(flags, "--"+dashed(name)+"="+listOf(name, value))
		default:
			flags = append(flags, "--"+dashed(name))
		}
	}
	return flags, nil
}

func listOf(name, value string) string {
	if name == "names" || name == "kinds" {
		return strings.ReplaceAll(value, ":", ",")
	}
	return value
}

func dashed(name string) string { return strings.ReplaceAll(name, "_", "-") }
