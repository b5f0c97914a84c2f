package web

import (
	"fmt"

	"brunt/internal/driver"
)

// readyKey is what a program made ready depends on.
type readyKey struct{ address, user, password, scheme, options string }

// ready is prepare for a program that doesn't change any more, once for all sessions: a list of URLs may
// have many thousand requests.
func (d *Driver) ready(t driver.Target, p *driver.Program) (*prepared, *driver.Error) {
	key := readyKey{t.Address, t.User, t.Password, d.scheme(t), fmt.Sprint(t.Options)}
	if allAway(p) {
		key.address, key.scheme = "", ""
	}
	type outcome struct {
		made    *prepared
		refused *driver.Error
	}
	o := p.Share(key, func() any {
		made, refused := d.prepare(t, p)
		return outcome{made, refused}
	}).(outcome)
	return o.made, o.refused
}
