package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"brunt/test/testserver"
)

// carsInTarantool creates what the article on xk6-tarantool uses: a space of cars, and a function that adds one.
// api_car_put does the same with the two fields as arguments, as calls of a plan pass them.
const carsInTarantool = `
local s = box.schema.space.create('car', {if_not_exists = true, format = {{'car_id', 'string'}, {'bucket_id', 'unsigned'}, {'model', 'string'}}})
s:create_index('pk', {if_not_exists = true, parts = {'car_id'}})
function api_car_put(id, model) s:replace({id, 1, model}); return 'Ok' end
function api_car_add(car) return api_car_put(car.car_id, car.model) end`

// k6PerS is the rate of each of the article's two scenarios, in calls per second.
const k6PerS = 10_000

const xk6 = "k6 with xk6-tarantool"

// k6Tarantool measures the article's constant rate on two servers: 2 × 10 000 calls a second.
func k6Tarantool() group {
	const work = "Tarantool CALL from scripts, open, 2 × 10 000/s"
	return group{
		name: "k6-tarantool", slow: true,
		goals: []goal{
			{work: work, ours: "brunt k6", peer: xk6, ratio: 0.7},
			{work: work, ours: "brunt k6, brunt-open", peer: xk6, ratio: 0.7},
			{work: work, ours: "brunt k6, brunt-open, 1 ms tolerance", peer: xk6},
			{work: work, ours: "brunt k6, brunt-native", peer: xk6},
			{work: work, ours: "brunt k6, brunt-native, shared connections", peer: xk6, ratio: 0.2},
			{work: "the same iterations without a call", ours: "an empty iteration", peer: xk6},
		},
		open: func(s *stand) ([]client, error) {
			var servers [2]*testserver.Server
			for i := range servers {
				t, err := s.started(testserver.Tarantool(s.tb, testserver.Lua(carsInTarantool)))
				if err != nil {
					return nil, err
				}
				servers[i] = t
			}
			peer, missing := tool("XK6_TARANTOOL", "xk6-tarantool",
				"build it from go.k6.io/k6 and github.com/tarantool/xk6-tarantool")
			of := func(name, program, missing string, args []string, script func(*testserver.Server, *testserver.Server,
				time.Duration) string) client {
				return client{name: name, missing: missing, turn: func(d time.Duration) (sample, error) {
					return s.k6(program, args, script(servers[0], servers[1], d))
				}}
			}
			return []client{
				of("brunt k6", s.brunt.program, "", []string{"k6"}, carsScript("executor: 'constant-arrival-rate'", carsCalls)),
				of("brunt k6, brunt-open", s.brunt.program, "", []string{"k6"}, carsScript("executor: 'brunt-open'", carsCalls)),
				of("brunt k6, brunt-open, 1 ms tolerance", s.brunt.program, "", []string{"k6"},
					carsScript("executor: 'brunt-open', timingTolerance: '1ms'", carsCalls)),
				of("brunt k6, brunt-native", s.brunt.program, "", []string{"k6"}, carsPlan("sessions: 100")),
				of("brunt k6, brunt-native, shared connections", s.brunt.program, "", []string{"k6"},
					carsPlan("sessions: 2\npipeline: 100\ntiming_tolerance: 1ms")),
				of(xk6, peer, missing, nil, carsScript("executor: 'constant-arrival-rate'", carsCalls)),
				of("an empty iteration", peer, missing, nil, carsScript("executor: 'constant-arrival-rate'", "")),
			}, nil
		},
	}
}

// carsCalls is the body of the article's iterations. The data is made in JavaScript.
const carsCalls = `
export const conn1test = () => { tarantool.call(conn1, "api_car_add", [car()]); };
export const conn2test = () => { tarantool.call(conn2, "api_car_add", [car()]); };
`

// carsScript returns the article's script for an executor. Without calls its iterations do nothing, which is the least
// that iterations can cost.
func carsScript(executor, calls string) func(a, b *testserver.Server, d time.Duration) string {
	if calls == "" {
		calls = "export const conn1test = () => {}, conn2test = conn1test;"
	}
	return func(a, b *testserver.Server, d time.Duration) string {
		return fmt.Sprintf(`import tarantool from "k6/x/tarantool";
const conn1 = tarantool.connect([%q], {user: %q, pass: %q});
const conn2 = tarantool.connect([%q], {user: %q, pass: %q});
const base = {%s, rate: %d, timeUnit: "1s", duration: %q, preAllocatedVUs: 100, maxVUs: 100};
export const options = {
  scenarios: {conn1test: Object.assign({exec: "conn1test"}, base), conn2test: Object.assign({exec: "conn2test"}, base)},
  summaryTrendStats: ["med", "p(99)"],
};
const car = () => ({car_id: __VU + "-" + __ITER, model: "model"});
%s`, a.Addr, a.User, a.Password, b.Addr, b.User, b.Password, executor, k6PerS, d.String(), calls)
	}
}

// carsPlan returns a plan for the same load, with additional settings.
func carsPlan(settings string) func(a, b *testserver.Server, d time.Duration) string {
	return func(a, b *testserver.Server, d time.Duration) string {
		return fmt.Sprintf(
			"const plan = `config_name: cars\ntarget: {protocol: iproto, addresses: [%q, %q]}\n%s\nawake: \"off\"\nqueries:\n"+
				"  - name: api_car_put\n    call: api_car_put\n    params: [{type: String, range: [7, 7]}, {type: Constant, value: model}]\nload:\n"+
				"  - constant: {rate: %d, duration: %s}\n`;\n"+
				"export const options = {scenarios: {cars: {executor: 'brunt-native', plan, user: %q, password: %q}}, summaryTrendStats: ['med', 'p(99)']};\n"+
				"export default () => {};\n", a.Addr, b.Addr, settings, 2*k6PerS, d, a.User, a.Password)
	}
}

// k6 runs a script and counts its iterations.
func (s *stand) k6(program string, args []string, script string) (sample, error) {
	file, summary, bundle := filepath.Join(s.dir, "script.js"), filepath.Join(s.dir, "summary.json"),
		filepath.Join(s.dir, "bundle")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(bundle)
	defer os.Remove(summary)
	args = append(args, "run", "-q", "--summary-export", summary, file)
	env := []string{"BRUNT_BUNDLE=" + bundle, "K6_NO_USAGE_REPORT=true", "K6_AUTO_EXTENSION_RESOLUTION=false"}
	return s.turn(env, program, args, func(out string, p *sample) error {
		var said struct {
			Metrics map[string]map[string]any `json:"metrics"`
		}
		data, err := os.ReadFile(summary)
		if err == nil {
			err = json.Unmarshal(data, &said)
		}
		number := func(metric, stat string) float64 { n, _ := said.Metrics[metric][stat].(float64); return n }
		p.Requests, p.PerS = uint64(number("iterations", "count")), number("iterations", "rate")
		p.P50Us, p.P99Us = 1e3*number("iteration_duration", "med"), 1e3*number("iteration_duration", "p(99)")
		p.Failed = uint64(number("dropped_iterations", "count"))
		if strings.Contains(out, "level=error") {
			return errors.New(tail(out))
		}
		return err
	})
}

// scriptRun prepares the run of a script with a number of iterations, each of which adds a value to a Trend.
func (s *stand) scriptRun(iterations uint64, atMost time.Duration) (cmd *exec.Cmd, bundle string, err error) {
	script := fmt.Sprintf(`import { Trend } from "k6/metrics";
const t = new Trend("waiting");
export const options = {scenarios: {a: {executor: "shared-iterations", vus: 4, iterations: %d, maxDuration: %q}}, thresholds: {waiting: ["p(99)<2"]}};
export default () => { t.add(Math.random()); };
`, iterations, atMost)
	file := filepath.Join(s.dir, "long.js")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return nil, "", err
	}
	bundle = filepath.Join(s.dir, "long")
	cmd = exec.CommandContext(s.ctx, s.brunt.program, "k6", "run", "-q", file)
	cmd.Env = append(os.Environ(), "BRUNT_BUNDLE="+bundle)
	cmd.Stderr = os.Stderr
	return cmd, bundle, nil
}
