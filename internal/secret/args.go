package secret

import (
	"slices"
	"strings"
)

// Args is a command line as it may be shown and kept. properties says that -p takes name=value, as in
// YCSB, and no password.
func Args(args []string, properties bool) []string {
	out := slices.Clone(args)
	for i := range out {
		if i == 0 {
			continue
		}
		flag, value, joined := splitFlag(args[i])
		switch {
		case flag == "" && i > 1:
			before, _, alone := splitFlag(args[i-1])
			if alone {
				before = ""
			}
			out[i] = flagValue(before, args[i], properties)
		case flag == "":
			out[i] = Text(args[i])
		case joined:
			out[i] = strings.TrimSuffix(args[i], value) + flagValue(flag, value, properties)
		}
	}
	return out
}

// splitFlag takes an argument apart: the flag's name without dashes, "" if it is none, and the value
// if it is joined to it, by = or, for flags of one letter that hold something, without.
func splitFlag(arg string) (flag, value string, joined bool) {
	bare := strings.TrimLeft(arg, "-")
	if len(bare) == len(arg) || bare == "" {
		return "", "", false
	}
	flag, value, joined = strings.Cut(bare, "=")
	if len(flag) > 1 && len(arg)-len(bare) == 1 && strings.Contains("pHoau", flag[:1]) {
		return flag[:1], bare[1:], true
	}
	return flag, value, joined
}

// flagValue is a flag's value as it may be shown.
func flagValue(flag, value string, properties bool) string {
	switch flag {
	case "password", "secret-data":
		return Hidden
	case "p":
		if !properties {
			return Hidden
		}
		fallthrough
	case "prop", "o", "option":
		name, v, ok := strings.Cut(strings.TrimPrefix(value, "="), "=")
		if !ok {
			return Text(value)
		}
		return strings.TrimSuffix(value, v) + Value(name, v)
	case "H", "header":
		name, v, ok := strings.Cut(value, ":")
		if ok && Name(name) && strings.TrimSpace(v) != "" {
			return name + ": " + Hidden
		}
	}
	return Text(value)
}
