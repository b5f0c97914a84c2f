package protocol

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/lazyregexp"
)

// Declaration says of a protocol what the rest of brunt needs to know of it by name. Nothing else compares the names of
// protocols, so a new protocol is a package with a Driver and a Declaration, and one line in package protocols. Fields
// that aren't needed may be zero.
type Declaration struct {
	// Names are the names by which plans, flags and scripts may refer to the protocol. The first is the canonical one,
	// which the driver and records have.
	Names []string
	// Open returns a new driver. It doesn't connect.
	Open func() Driver
	// Port is appended to an address without a port. It is "" for protocols whose addresses aren't host:port.
	Port string
	// Embedded says that the server runs inside brunt. Its address is then the path of a file or folder.
	Embedded bool
	// SharesFile says of an embedded server that several processes may open its file at the same time.
	SharesFile bool
}

// Name returns the canonical name, "" if there is none.
func (d *Declaration) Name() string {
	if len(d.Names) == 0 {
		return ""
	}
	return d.Names[0]
}

// Has reports whether name is one of the protocol's names. Letter case doesn't matter.
func (d *Declaration) Has(name string) bool { return slices.Contains(d.Names, strings.ToLower(name)) }

// names are written in URLs, in front of "://" (RFC 3986, section 3.1).
var nameForm = lazyregexp.New(`^[a-z][a-z0-9+.-]*$`)

// Check returns an error if the declaration can't be used: one line that says what to change.
func (d *Declaration) Check() error {
	if len(d.Names) == 0 {
		return fmt.Errorf("a protocol has no name")
	}
	for i, name := range d.Names {
		if !nameForm().MatchString(name) {
			return fmt.Errorf("protocol %q: a name begins with a letter and has lower-case letters, digits, +, - and . only",
				name)
		}
		if slices.Contains(d.Names[:i], name) {
			return fmt.Errorf("protocol %s: it names %s twice", d.Name(), name)
		}
	}
	if d.Open == nil {
		return fmt.Errorf("protocol %s: it has no driver", d.Name())
	}
	driver := d.Open()
	if driver == nil {
		return fmt.Errorf("protocol %s: it has no driver", d.Name())
	}
	if driver.Name() != d.Name() {
		return fmt.Errorf("protocol %s: its driver calls itself %q", d.Name(), driver.Name())
	}
	return nil
}
