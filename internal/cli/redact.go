package cli

import "strings"

// redacted is the command line without passwords, for the record.
func redacted(args []string) []string {
	out := make([]string, 0, len(args))
	secretNext := false
	for i, a := range args {
		a = redactedURLs(a)
		name, _, hasValue := strings.Cut(a, "=")
		switch {
		case secretNext:
			out = append(out, "***")
			secretNext = false
			continue
		case i == 0 || !strings.HasPrefix(a, "-"):
			out = append(out, a)
			continue
		case name == "-p" || name == "--password":
			if hasValue {
				a = name + "=***"
			}
			secretNext = !hasValue
		case strings.HasPrefix(a, "-p") && !strings.HasPrefix(a, "--"):
			a = "-p***"
		}
		out = append(out, a)
	}
	return out
}
