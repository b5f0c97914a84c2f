// Package datagen is the JavaScript module k6/x/datagen. It generates values and rows as pure functions of a seed and a
// number. Virtual users share only the count of values taken. No list is kept, so the memory doesn't grow with the
// number of values.
package datagen

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/modules"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/load/gen"
)

// sources are the generators that the scripts of a run use, by a key of their definition.
type sources struct {
	seed uint64
	mu   sync.Mutex
	all  map[string]*source
	cars atomic.Pointer[source]
}

// source is a generator of rows, with the number of rows taken.
type source struct {
	columns []string
	row     func(values []gen.Value, number uint64)
	rows    uint64 // rows of its table, after which it starts over; 0: it never does
	taken   atomic.Uint64
}

// New returns the module.
func New(s *session.Session) modules.Module {
	all := &sources{seed: s.Seed(), all: map[string]*source{}}
	return bind.Module(s, func(vu *bind.VU) *sobek.Object {
		i := &instance{vu: vu, sources: all}
		return vu.Object("datagen", map[string]bind.Func{
			"generateData": i.generateData, "getData": i.getData,
			"generator": i.generator, "rows": i.rows, "table": i.table,
		})
	})
}

// instance is the module of one virtual user.
type instance struct {
	vu     *bind.VU
	values []gen.Value
	*sources
}

// maxSources is how many sources the virtual users share. Further ones are not shared.
const maxSources = 1024

// get returns the source with the key. It makes the source if there is none.
func (s *sources) get(key string, generate func() (*source, error)) (*source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.all[key]; have != nil {
		return have, nil
	}
	made, err := generate()
	if err == nil && len(s.all) < maxSources {
		s.all[key] = made
	}
	return made, err
}

// at returns row number n. It is valid until the next call.
func (i *instance) at(s *source, n uint64) []gen.Value {
	if s.rows > 0 {
		n %= s.rows
	}
	if len(i.values) < len(s.columns) {
		i.values = make([]gen.Value, len(s.columns))
	}
	v := i.values[:len(s.columns)]
	s.row(v, n)
	return v
}

// value returns the only column of a source's row n.
func (i *instance) value(s *source, n uint64) sobek.Value { return i.vu.Value(&i.at(s, n)[0]) }

// object returns row n as an object with the column names as keys.
func (i *instance) object(s *source, n uint64) sobek.Value {
	o := i.vu.Runtime().NewObject()
	for k, v := range i.at(s, n) {
		_ = o.Set(s.columns[k], i.vu.Value(&v))
	}
	return o
}

// maxTaken is the most values that one call of take returns.
const maxTaken = 1 << 20

// handle returns the object for scripts, with next(), at(n), take(n), taken() and count.
func (i *instance) handle(name string, s *source, show func(s *source, n uint64) sobek.Value) *sobek.Object {
	o := i.vu.Object(name, map[string]bind.Func{
		"next": func(*bind.Args) (any, error) { return show(s, s.taken.Add(1)-1), nil },
		"at": func(a *bind.Args) (any, error) {
			n := a.Whole(0, "the number", 0, math.MaxInt64)
			if err := a.Err(); err != nil {
				return nil, err
			}
			return show(s, uint64(n)), nil
		},
		"take": func(a *bind.Args) (any, error) {
			n := uint64(a.Whole(0, "how many", 0, maxTaken))
			if err := a.Err(); err != nil {
				return nil, err
			}
			first := s.taken.Add(n) - n
			list := make([]any, n)
			for k := range list {
				list[k] = show(s, first+uint64(k))
			}
			return i.vu.Runtime().NewArray(list...), nil
		},
		"taken": func(*bind.Args) (any, error) { return s.taken.Load(), nil },
	})
	_ = o.Set("count", s.rows)
	return o
}

// car returns the source of the data in Picostress' article: an id and a model of five letters and digits each. Ids are
// unique.
func car(seed uint64) (*source, error) {
	text := map[string]any{"type": "String", "range": []any{5, 5}, "alphabet": []any{"en", "digits"}}
	id := map[string]any{"unique": true}
	maps.Copy(id, text)
	return fromColumns([]column{{"car_id", id}, {"model", text}}, about{seed: seed, name: "cars"})
}

// fresh returns the run's seed, or a random one if it has none: the table may already hold the cars of an earlier run.
func (s *sources) fresh() uint64 {
	if s.seed != 0 {
		return s.seed
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// generateData() restarts the article's data, with the seed in {seed: 7} or with a fresh one.
func (i *instance) generateData(a *bind.Args) (any, error) {
	o := readAbout(a, 0, i.fresh())
	if err := a.Err(); err != nil {
		return nil, err
	}
	s, err := car(o.seed)
	if err != nil {
		return nil, fmt.Errorf("datagen.generateData: %w", err)
	}
	i.cars.Store(s)
	return nil, nil
}

// getData() returns the next row of the article's data, {car_id, model}.
func (i *instance) getData(*bind.Args) (any, error) {
	s := i.cars.Load()
	if s == nil {
		made, err := car(i.fresh())
		if err != nil {
			return nil, fmt.Errorf("datagen.getData: %w", err)
		}
		i.cars.CompareAndSwap(nil, made)
		s = i.cars.Load()
	}
	return i.object(s, s.taken.Add(1)-1), nil
}
