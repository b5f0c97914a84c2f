//go:build !nok6

package k6x

import (
	"go.k6.io/k6/v2/js/modules"

	"brunt/internal/k6x/session"
)

// moduleTable is the JavaScript modules of ours, by the names that scripts import.
func moduleTable(_ *session.Session) map[string]modules.Module {
	return map[string]modules.Module{}
}
