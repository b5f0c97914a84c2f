package picostress

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/dialect/k6/conns"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/run/runner"
	"brunt/internal/server/schema"
	"brunt/internal/server/target"
)

var (
	errNoConfig = errors.New("no configuration is known: call initConfig, or name its file with -e config=FILE")
	errNoPool   = errors.New("no server is known: call initConnPool first")
)

// job is a configuration and its server. All virtual users share it.
type job struct {
	session *session.Session

	mu     sync.Mutex
	plan   *plan.Plan
	work   *workload.Workload // compiled for the server; nil before initConnPool
	pool   *conns.Pool
	server string // product and version
	bySQL  map[string]int
}

// read reads a configuration. It drops the workload that was compiled for another one.
func (j *job) read(vu *bind.VU, seed uint64, path, schema string) error {
	data, err := vu.File(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if schema != "" {
		text, err := vu.File(schema)
		if err != nil {
			return fmt.Errorf("schema: %w", err)
		}
		if err := validate(schema, text, data); err != nil {
			return err
		}
	}
	p, err := planfile.Read(path, data)
	if err != nil {
		return err
	}
	p.Seed = seed
	j.plan, j.work = p, nil
	return nil
}

// validate checks a configuration, in YAML, against text, the JSON Schema of draft 7 or 2020-12 at path.
func validate(path string, text, data []byte) error {
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("schema %s isn't a JSON Schema: one of its keywords can't have the type %s", path, kind.Value)
		}
		return fmt.Errorf("schema %s: %w", path, err)
	}
	if d := schema.Schema; d != "" && !strings.Contains(d, "/draft-07/") && !strings.Contains(d, "/2020-12/") {
		return fmt.Errorf("schema %s: it is written for %s; write it for draft 7 or 2020-12", path, d)
	}
	rules, err := schema.Resolve(&jsonschema.ResolveOptions{BaseURI: "file:///"}) // an $id may be relative
	if err != nil {
		return fmt.Errorf("schema %s: %w", path, err)
	}
	var value any
	if err := yaml.Load(data, &value); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	value = nil // json.Unmarshal would otherwise keep YAML's types
	if err = json.Unmarshal(plain, &value); err == nil {
		err = rules.Validate(value)
	}
	if err != nil {
		return fmt.Errorf("the configuration isn't what %s asks for: %s", path, protocol.Line(err.Error(), ""))
	}
	return nil
}

// meet queries the server's version, compiles the plan for it, and makes a connection pool.
func (j *job) meet(ctx context.Context, at plan.Target, most int) error {
	if j.plan == nil {
		return errNoConfig
	}
	if err := j.close(); err != nil {
		return err
	}
	at.Options, at.TLS, at.Balance = j.plan.Target.Options, j.plan.Target.TLS, j.plan.Target.Balance
	j.plan.Target = at
	r, err := runner.Open(ctx, j.plan, runner.Options{Recording: runner.Recording{None: true}, NoSetup: true,
		NoTeardown: true})
	if err != nil {
		return err
	}
	j.work = r.Workload
	product := ""
	if len(r.Record.Targets) > 0 {
		s := r.Record.Targets[0]
		product = s.Product
		j.server = strings.TrimSpace(s.Product + " " + s.Version)
	}
	if err := r.Close(); err != nil {
		return err
	}
	d, err := protocols.Find(at.Protocol)
	if err != nil {
		return err
	}
	targets, err := target.Targets(j.plan)
	if err != nil {
		return err
	}
	j.session.Serves(&j.plan.Target, d.Name(), product)
	j.pool = conns.New(j.session, conns.Target{Protocol: d.Name(), Driver: d.Open(), Targets: targets, Most: most,
		Embedded: d.Embedded})
	j.session.AtEnd(j.Close)
	j.bySQL = map[string]int{}
	for i := range j.plan.Operations {
		j.bySQL[j.plan.Operations[i].Steps[0].Request.Text] = i
	}
	return nil
}

// close closes the connections. The compiled workload and the server's version remain.
func (j *job) close() error {
	if j.pool == nil {
		return nil
	}
	p := j.pool
	j.pool = nil
	return p.Close()
}

// Close implements io.Closer.
func (j *job) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.close()
}

// ready returns a copy of the plan. It fails if there is no configuration or no connection pool.
func (j *job) ready() (*plan.Plan, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.plan == nil:
		return nil, errNoConfig
	case j.pool == nil:
		return nil, errNoPool
	}
	p := *j.plan
	return &p, nil
}

// fillers is how many sessions fill tables in parallel.
const fillers = 4

func createTables(ctx context.Context, p *plan.Plan) error {
	p.Indexes = nil
	_, _, err := schema.Up(ctx, p, schema.FillOptions{Workers: fillers})
	return err
}

// seedOf reads a seed: a number, a BigInt, or a string of digits, as option -e gives it.
func seedOf(a *bind.Args, at int) (uint64, error) {
	switch x := a.Plain(at).(type) {
	case string:
		if n, err := strconv.ParseUint(strings.TrimSpace(x), 10, 64); err == nil {
			return n, nil
		}
	case int64:
		if x >= 0 {
			return uint64(x), nil
		}
	case *big.Int:
		if x.IsUint64() {
			return x.Uint64(), nil
		}
	}
	a.Fault(at, "the seed", "a whole number of at least 0")
	return 0, a.Err()
}

func addressesOf(a *bind.Args, at int) (all []string) {
	list, ok := a.Plain(at).([]any)
	if !ok {
		list = []any{a.Text(at, "the addresses")}
	}
	for _, x := range list {
		text, ok := x.(string)
		if !ok {
			a.Fault(at, "the addresses", "strings")
			return nil
		}
		for one := range strings.SplitSeq(text, ",") {
			all = append(all, strings.TrimSpace(one))
		}
	}
	return all
}

// valueOf converts a parameter from JSON, to which params converted it, to the kind that the plan's request takes. ok
// is false if that isn't possible. gen.Null stands for any kind.
func valueOf(x any, kind gen.Kind) (v gen.Value, ok bool) {
	text, isText := x.(string)
	if !isText {
		v, err := bind.Generated(x)
		if err == nil && kind == gen.Float && v.Kind == gen.Int {
			v.Kind, v.F = gen.Float, float64(v.I)
		}
		return v, err == nil
	}
	switch kind {
	case gen.Int, gen.Uint, gen.Float, gen.JSON:
		template.SetText(&v, kind, []byte(text))
		return v, v.Kind != gen.Null
	case gen.Decimal:
		return bind.Decimal(text)
	case gen.Datetime:
		t, err := time.Parse(time.RFC3339Nano, text)
		v.Kind, v.I = gen.Datetime, t.UnixMicro()
		return v, err == nil
	case gen.Bytes, gen.UUID:
		b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		v.Kind, v.B = kind, b
		return v, err == nil
	}
	v.SetString(text)
	return v, true
}
