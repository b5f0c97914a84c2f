//go:build !unix

package postgres

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/wire"
)

// Takes refuses: sockets can be taken over on Unix systems only.
func (*Driver) Takes(driver.Target, *driver.Program) (why string, ok bool) {
	return "event loops need a Unix system", false
}

// Takeover always fails here.
func (*Driver) Takeover(context.Context, driver.Target, *driver.Program) (wire.Session, error) {
	return wire.Session{}, &driver.Error{Class: driver.Client, Text: "event loops need a Unix system"}
}
