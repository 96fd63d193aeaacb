package main

import (
	"errors"
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
	"users", "owner", "group", "nofail", "_netdev", "async", "sync", "dirsync", "atime", "noatime", "relatime",
	"norelatime", "diratime", "nodiratime", "strictatime", "nostrictatime", "lazytime", "nolazytime", "iversion",
	"noiversion", "mand", "nomand", "nosymfollow", "silent", "loud", "comment", "helper", "uhelper",
}

// request is what mount(8) asks of its helper.
type request struct {
	operands []string
	flags    []string // of "sysfsd mount"
	fake     bool     // all but the mount
	// sloppy: options that nobody knows are passed over.
	sloppy bool
}

// helperArgs turns the arguments of a mount helper,
//
//	mount.sysfsd SPEC DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]
//
// into those of "sysfsd mount --daemon"; none where there is nothing to do.
// isFlag reports the name of a flag of "sysfsd mount".
func helperArgs(args []string, isFlag func(string) bool) ([]string, error) {
	r, options, err := parseHelper(args)
	if err != nil {
		return nil, err
	}
	for _, list := range options {
		if err := r.addOptions(list, isFlag); err != nil {
			return nil, err
		}
	}
	if len(r.operands) != 2 {
		return nil, fmt.Errorf("usage: %s SPEC DIR [-o OPTIONS]", helperName)
	}
	if r.fake {
		return nil, nil
	}
	return slices.Concat([]string{"mount", "--daemon"}, r.flags, []string{"--", r.operands[1]}), nil
}

// parseHelper splits a helper's arguments. The lists of options are read after
// them: -s may come behind.
func parseHelper(args []string) (r request, options []string, err error) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-o" || arg == "-t" || arg == "-N":
			if i++; i == len(args) {
				return r, nil, fmt.Errorf("%s has no value", arg)
			}
			if arg == "-o" {
				options = append(options, args[i])
			}
			if arg == "-N" {
				return r, nil, errors.New("-N is not supported: run mount(8) by nsenter --mount=NAMESPACE")
			}
		case isHelperFlags(arg):
			r.fake = r.fake || strings.Contains(arg, "f")
			r.sloppy = r.sloppy || strings.Contains(arg, "s")
		case strings.HasPrefix(arg, "-"):
			return r, nil, fmt.Errorf("%s is none of -s, -f, -n, -v, -o, -t", arg)
		default:
			r.operands = append(r.operands, arg)
		}
	}
	return r, options, nil
}

// isHelperFlags reports flags without a value, which may stand together.
func isHelperFlags(arg string) bool {
	letters, ok := strings.CutPrefix(arg, "-")
	return ok && letters != "" && strings.Trim(letters, "sfnv") == ""
}

// addOptions turns -o a,b_c=d into --a --b-c=d.
func (r *request) addOptions(list string, isFlag func(string) bool) error {
	for option := range strings.SplitSeq(list, ",") {
		name, value, hasValue := strings.Cut(option, "=")
		flag := strings.ReplaceAll(name, "_", "-")
		switch {
		case option == "" || isForMount(name):
		case !isFlag(flag) && r.sloppy:
		case !isFlag(flag):
			return fmt.Errorf("-o %s: unknown option", name)
		case hasValue:
			r.flags = append(r.flags, "--"+flag+"="+listOf(name, value))
		default:
			r.flags = append(r.flags, "--"+flag)
		}
	}
	return nil
}

// isForMount reports an option that is not meant for us.
func isForMount(name string) bool {
	return slices.Contains(fromMount, name) || strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "X-")
}

// listOf returns a value as the flag wants it: mount(8) takes ',' for itself, so
// a list is written with ':', which no device name and no kind has.
func listOf(name, value string) string {
	if name == "names" || name == "kinds" {
		return strings.ReplaceAll(value, ":", ",")
	}
	return value
}
