// Package picostress is the JavaScript module k6/x/picostress, with the functions that Picostress' scripts call. The
// functions return an error or null. Only invalid arguments throw.
package picostress

import (
	"context"
	"os"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/modules"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/plan"
	"brunt/internal/server/schema"
)

// New returns the module.
func New(s *session.Session) modules.Module {
	shared := &job{session: s}
	return bind.Module(s, func(vu *bind.VU) *sobek.Object {
		i := &instance{vu: vu, job: shared}
		return vu.Object("picostress", map[string]bind.Func{"new": i.instance})
	})
}

// instance is the module of one virtual user. All of them share the job.
type instance struct {
	vu   *bind.VU
	made *sobek.Object
	*job
}

// instance implements new(), which returns the object with all functions.
func (i *instance) instance(*bind.Args) (any, error) {
	if i.made != nil {
		return i.made, nil
	}
	o := i.vu.Object("picostress.new()", map[string]bind.Func{
		"initConfig": i.initConfig, "initConnPool": i.initConnPool, "closeConnPool": i.closeConnPool,
		"createTables": i.createTables, "createIndexes": i.createIndexes,
		"dropTables": i.dropTables, "dropIndexes": i.dropIndexes,
		"generateQueue": i.generateQueue, "call": i.call, "version": i.version,
	})
	config := i.vu.Runtime().NewObject()
	for key, read := range map[string]func() (any, error){"name": i.name, "queue_size": i.queueSize} {
		get := i.vu.Function("picostress.config."+key, func(*bind.Args) (any, error) { return read() })
		if err := config.DefineAccessorProperty(key, get, nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE); err != nil {
			return nil, err
		}
	}
	i.made = o
	return o, o.Set("config", config)
}

// name implements config.name.
func (i *instance) name() (any, error) {
	if err := i.known(); err != nil {
		return nil, err
	}
	return i.plan.Name, nil
}

// queueSize implements config.queue_size, the number of requests that generateQueue returns.
func (i *instance) queueSize() (any, error) {
	if err := i.known(); err != nil {
		return nil, err
	}
	total := uint64(0)
	for k := range i.plan.Operations {
		total += i.plan.Operations[k].Count
	}
	return total, nil
}

// known reads the configuration from -e config=FILE, if the script hasn't read one. The script's options need it while
// the script is loaded, before setup can call initConfig.
func (i *instance) known() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.plan != nil {
		return nil
	}
	env, _ := i.vu.Runtime().Get("__ENV").Export().(map[string]string)
	if env["config"] == "" {
		return errNoConfig
	}
	return i.read(i.vu, 0, env["config"], "")
}

// initConfig(seed, configuration, schema) reads a configuration, and validates it against a JSON Schema if one is
// given.
func (i *instance) initConfig(a *bind.Args) (any, error) {
	seed, err := seedOf(a, 0)
	path, schema := a.Text(1, "the configuration's file"), a.TextOr(2, "the schema's file", "")
	if a.Err() != nil || err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.outcome(i.read(i.vu, seed, path, schema))
}

// initConnPool(protocol, addresses, user, password, connections, database) connects to the server, and queries its
// version. By default there are as many connections as virtual users.
func (i *instance) initConnPool(a *bind.Args) (any, error) {
	protocol, addresses := a.Text(0, "the protocol"), addressesOf(a, 1)
	user, password := a.TextOr(2, "the user", ""), a.TextOr(3, "the password", os.Getenv("BRUNT_PASSWORD"))
	most := int(a.WholeOr(4, "the number of connections", 0, 1_000_000, 0))
	database := a.TextOr(5, "the database", "")
	if err := a.Err(); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	target := plan.Target{Protocol: protocol, Addresses: addresses, User: user, Password: password, Database: database}
	return i.outcome(i.meet(i.vu.Context(), target, most))
}

func (i *instance) closeConnPool(*bind.Args) (any, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.outcome(i.close())
}

// createTables creates the configuration's tables and fills them.
func (i *instance) createTables(*bind.Args) (any, error) {
	return i.withPlan(createTables)
}

func (i *instance) createIndexes(*bind.Args) (any, error) {
	return i.withPlan(schema.CreateIndexes)
}

// dropTables(timeout) drops the tables that brunt created. The timeout in seconds applies to each table.
func (i *instance) dropTables(a *bind.Args) (any, error) {
	timeout := seconds(a, 0)
	if err := a.Err(); err != nil {
		return nil, err
	}
	return i.withPlan(func(ctx context.Context, p *plan.Plan) error {
		_, _, err := schema.Down(ctx, p, schema.DownOptions{Timeout: timeout})
		return err
	})
}

func (i *instance) dropIndexes(a *bind.Args) (any, error) {
	timeout := seconds(a, 0)
	if err := a.Err(); err != nil {
		return nil, err
	}
	return i.withPlan(func(ctx context.Context, p *plan.Plan) error {
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout*time.Duration(max(len(p.Indexes), 1)))
			defer cancel()
		}
		return schema.DropIndexes(ctx, p)
	})
}

// withPlan calls do with the plan, and returns its outcome.
func (i *instance) withPlan(do func(context.Context, *plan.Plan) error) (any, error) {
	p, err := i.ready()
	if err == nil {
		err = do(i.vu.Context(), p)
	}
	return i.outcome(err)
}

// version() returns the server's version, which initConnPool has queried.
func (i *instance) version(*bind.Args) (any, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.server, nil
}

// outcome returns what the functions return to the script: the error as an object, or null.
func (i *instance) outcome(err error) (any, error) {
	if err == nil {
		return sobek.Null(), nil
	}
	return i.vu.Exception(err), nil
}

func seconds(a *bind.Args, at int) time.Duration {
	if !a.Has(at) {
		return 0
	}
	x := a.At(at).ToFloat()
	if !(x > 0 && x < 1e9) {
		a.Fault(at, "the timeout", "seconds, above 0")
		return 0
	}
	return time.Duration(x * float64(time.Second))
}
