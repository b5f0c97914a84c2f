// Package bindtest provides a virtual user for tests of modules.
package bindtest

import (
	"context"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
)

// vu is a virtual user that does nothing.
type vu struct{ runtime *sobek.Runtime }

// NewVU returns a virtual user with a runtime like k6's, but without a test or iterations.
func NewVU() modules.VU {
	rt := sobek.New()
	rt.SetFieldNameMapper(common.FieldNameMapper{})
	return vu{rt}
}

func (vu) Context() context.Context             { return context.Background() }
func (vu) Events() common.Events                { return common.Events{} }
func (vu) InitEnv() *common.InitEnvironment     { return nil }
func (vu) State() *lib.State                    { return nil }
func (v vu) Runtime() *sobek.Runtime            { return v.runtime }
func (vu) RegisterCallback() func(func() error) { return func(func() error) {} }
