package ycsb

import (
	"time"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

func basicDatabase() *Database {
	return &Database{
		Names: []string{"basic"}, About: "no database: says what would be done, with verbose=true", Protocol: "noop",
		Properties: []Property{
			{"basicdb.simulatedelay", "0", "milliseconds that an operation takes"},
			{"basicdb.randomizedelay", "true", "up to so many milliseconds"},
		},
		Target: func(set *properties.Reader) plan.Target {
			t := plan.Target{Protocol: "noop", Addresses: []string{"none"}}
			ms, option := set.Int("basicdb.simulatedelay", 0, 0, 3_600_000), "delay"
			if ms == 0 {
				return t
			}
			if set.Bool("basicdb.randomizedelay", true) {
				option = "delay_up_to"
			}
			t.Options = map[string]string{option: (time.Duration(ms) * time.Millisecond).String()}
			return t
		},
		Store: func(s *Settings, _ *properties.Reader) Store { return &basicStore{kvStore{s: s}} },
	}
}

// basicStore has nothing that reads could be checked against.
type basicStore struct{ kvStore }

func (b *basicStore) Read(fields []string, _ bool) []Request { return b.kvStore.Read(fields, false) }
