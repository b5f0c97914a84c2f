//go:build !nok6

package tarantool

import "github.com/grafana/sobek"

// lazy is a result that is made when the script looks at it: most scripts ask for its code at most.
type lazy struct {
	results *results
	x       *exchange
	made    *sobek.Object // nil before
}

// later is an exchange's result, not made yet.
func (r *results) later(x *exchange) *sobek.Object {
	o := r.vu.Runtime().NewDynamicObject(&lazy{results: r, x: x})
	_ = o.SetPrototype(r.proto) // a fresh object takes it
	return o
}

// whole makes the result. An answer that makes no sense is an exception.
func (l *lazy) whole() *sobek.Object {
	if l.made == nil {
		o, err := l.results.of(l.x)
		if err != nil {
			panic(l.results.vu.Exception(err)) // this is how sobek throws
		}
		l.made, l.x = o, nil
	}
	return l.made
}

// own reports whether the result itself has a property.
func (l *lazy) own(key string) bool {
	for _, k := range l.whole().Keys() {
		if k == key {
			return true
		}
	}
	return false
}

// Get implements sobek.DynamicObject.
func (l *lazy) Get(key string) sobek.Value {
	if l.made == nil && key == "code" {
		return l.results.ok
	}
	if !l.own(key) {
		return nil // its prototype may have it
	}
	return l.made.Get(key)
}

// Set implements sobek.DynamicObject.
func (l *lazy) Set(key string, value sobek.Value) bool { return l.whole().Set(key, value) == nil }

// Has implements sobek.DynamicObject.
func (l *lazy) Has(key string) bool { return l.own(key) }

// Delete implements sobek.DynamicObject.
func (l *lazy) Delete(key string) bool { return l.whole().Delete(key) == nil }

// Keys implements sobek.DynamicObject.
func (l *lazy) Keys() []string { return l.whole().Keys() }

var _ sobek.DynamicObject = (*lazy)(nil)
