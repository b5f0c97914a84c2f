package target

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// UsageError is a fault of the plan or the flags, found before anything was sent.
type UsageError struct{ Err error }

// Error returns the fault's own text.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *UsageError) Unwrap() error { return e.Err }

// UnreachableError says that no address could be used.
type UnreachableError struct{ Err error }

// Error returns the first failure met and what to check.
func (e *UnreachableError) Error() string {
	text := e.Err.Error()
	if strings.Contains(text, "; ") {
		return text // the driver knew more exactly
	}
	return text + "; check the address, the protocol and the credentials"
}

// Unwrap returns the first failure met.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Unreachable tells the error from others to who doesn't know runs.
func (e *UnreachableError) Unreachable() bool { return true }

// at names the address that an error is about, unless the error does.
func at(address string, err error) error {
	if strings.Contains(err.Error(), address) {
		return err
	}
	return fmt.Errorf("%s: %w", address, err)
}

// NotConnected tells what the driver can't send, or the server refused to prepare, which is the plan's fault and is
// told with its place in the plan's file, from a server that can't be used.
func NotConnected(p *plan.Plan, err error) error {
	var e *protocol.Error
	if !errors.As(err, &e) || e.Class != protocol.Server {
		return unusable(p, err)
	}
	fix := "correct the statement, or create what it needs with brunt schema up"
	// PostgreSQL's codes of statements whose parameters have no type, or another than what they are used for
	// (errcodes.txt: indeterminate_datatype, datatype_mismatch, undefined_function, ambiguous_function, cannot_coerce).
	if slices.Contains([]string{"42P18", "42804", "42883", "42725", "42846"}, e.Code) {
		fix = "say what the parameters are by casts such as $1::integer"
	}
	return &UsageError{fmt.Errorf("%s%w; %s", placed(p, e.Text), err, fix)}
}

// unusable is the error of an address that can't be used: the plan's fault if the driver can't do what is asked of it.
func unusable(p *plan.Plan, err error) error {
	var e *protocol.Error
	if errors.As(err, &e) && e.Class == protocol.Client {
		return &UsageError{&misuse{placed(p, e.Text) + e.Text, err}}
	}
	return &UnreachableError{err}
}

// misuse is a fault of the plan or the flags that a driver found: an option's value, a capture's form, a request that
// the
// protocol can't send. No address is to blame.
type misuse struct {
	text string
	err  error
}

func (m *misuse) Error() string { return m.text }
func (m *misuse) Unwrap() error { return m.err }

// placed is where the request that an error's text is about stands in the plan's file, with a colon;
// "" if nobody knows. Drivers begin such texts with the word request and its name in quotes.
func placed(p *plan.Plan, text string) string {
	_, quoted, ok := strings.Cut(text, "request ")
	if !ok {
		return ""
	}
	if quoted, err := strconv.QuotedPrefix(quoted); err == nil {
		if name, err := strconv.Unquote(quoted); err == nil {
			if at := p.PlaceOf(name).String(); at != "" {
				return at + ": "
			}
		}
	}
	return ""
}
