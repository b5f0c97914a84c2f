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
		Target: func(set *properties.Set) (plan.Target, error) {
			t := plan.Target{Protocol: "noop", Addresses: []string{"none"}}
			ms, err := set.Int("basicdb.simulatedelay", 0, 0, 3_600_000)
			if err != nil || ms == 0 {
				return t, err
			}
			option := "delay"
			random, err := set.Bool("basicdb.randomizedelay", true)
			if random {
				option = "delay_up_to"
			}
			t.Options = map[string]string{option: (time.Duration(ms) * time.Millisecond).String()}
			return t, err
		},
		Store: func(s *Settings) (Store, error) { return &basicStore{kvStore{s: s}}, nil },
	}
}

// basicStore has nothing that reads could be checked against.
type basicStore struct{ kvStore }

func (b *basicStore) Read(fields []string, _ bool) []Request { return b.kvStore.Read(fields, false) }
