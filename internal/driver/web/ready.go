package web

import (
	"fmt"
	"sync"

	"brunt/internal/driver"
)

// readyKey is what a prepared program depends on.
type readyKey struct {
	program                 *driver.Program
	address, user, password string
	scheme, options         string
}

// readyPrograms keeps programs that were made ready, so that many sessions share one: a list of
// URLs may have many thousand requests.
type readyPrograms struct {
	mu  sync.Mutex
	all map[readyKey]*prepared
}

// ready is prepare for a program that doesn't change any more.
func (d *Driver) ready(t driver.Target, p *driver.Program) (*prepared, *driver.Error) {
	key := readyKey{p, t.Address, t.User, t.Password, d.scheme(t), fmt.Sprint(t.Options)}
	if allAway(p) {
		key.address, key.scheme = "", ""
	}
	d.readies.mu.Lock()
	defer d.readies.mu.Unlock()
	if have := d.readies.all[key]; have != nil {
		return have, nil
	}
	made, refused := d.prepare(t, p)
	if refused != nil {
		return nil, refused
	}
	if d.readies.all == nil {
		d.readies.all = map[readyKey]*prepared{}
	}
	d.readies.all[key] = made
	return made, nil
}
