//go:build !linux

package postgres

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/wire"
)

// Takes refuses: event loops are Linux's.
func (*Driver) Takes(driver.Target, *driver.Program) (why string, ok bool) {
	return "event loops need Linux", false
}

// Takeover always fails here.
func (*Driver) Takeover(context.Context, driver.Target, *driver.Program) (wire.Session, error) {
	return wire.Session{}, driver.Bad("event loops need Linux")
}
