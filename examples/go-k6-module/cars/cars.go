// Package cars is a module for k6 scripts, k6/x/cars: it calls functions of a Tarantool.
package cars

import (
	"context"

	"github.com/tarantool/go-tarantool/v2"
	"go.k6.io/k6/v2/js/modules"
)

func init() { modules.Register("k6/x/cars", new(Cars)) }

// Cars is the module.
type Cars struct{}

// Connect connects to a server.
func (*Cars) Connect(address, user, password string) (*tarantool.Connection, error) {
	d := tarantool.NetDialer{Address: address, User: user, Password: password}
	return tarantool.Connect(context.Background(), d, tarantool.Opts{})
}

// Call calls a stored function.
func (*Cars) Call(c *tarantool.Connection, function string, args []any) ([]any, error) {
	return c.Do(tarantool.NewCallRequest(function).Args(args)).Get()
}
