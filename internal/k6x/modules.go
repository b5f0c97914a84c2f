//go:build !nok6

package k6x

import (
	"go.k6.io/k6/v2/js/modules"

	"brunt/internal/k6x/brunt"
	"brunt/internal/k6x/datagen"
	"brunt/internal/k6x/picostress"
	"brunt/internal/k6x/session"
	"brunt/internal/k6x/tarantool"
)

// moduleTable is the JavaScript modules of ours, by the names that scripts import.
func moduleTable(s *session.Session) map[string]modules.Module {
	return map[string]modules.Module{
		"k6/x/brunt":      brunt.New(s),
		"k6/x/datagen":    datagen.New(s),
		"k6/x/picostress": picostress.New(s),
		"k6/x/tarantool":  tarantool.New(s),
	}
}
