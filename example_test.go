package brunt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brunt"
	_ "brunt/protocols/noop"
)

// A load of a function has a result, whose figures a program can use.
func ExampleLoad_Run() {
	load := brunt.Load{
		Name:     "sum",
		Sessions: 4,
		Count:    1000,
		Do: func(ctx context.Context, n uint64) error {
			if n%100 == 0 {
				return &brunt.Failure{Class: brunt.ClassServer, Code: "full", Text: "no room left"}
			}
			return nil
		},
	}
	result, err := load.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Total.Done, "done,", result.Total.Failed, "failed")
	for _, f := range result.Failures {
		fmt.Println(f.Count, f.Class, f.Code, f.Text)
	}
	fmt.Println("median known:", result.Total.Response.Quantile(0.5) < time.Minute)
	// Output:
	// 1000 done, 10 failed
	// 10 server full no room left
	// median known: true
}

// A plan is a file, or a text.
func ExampleParsePlan() {
	plan, err := brunt.ParsePlan("cars.yml", []byte(`
target: {protocol: noop, addresses: [x]}
queries: [{name: read, call: read_car, count: 200}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := plan.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Name, result.Total.OK)
	// Output: cars 200
}

// A bundle is read and judged again, by other rules.
func ExampleResult_Judge() {
	folder, err := os.MkdirTemp("", "results")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	load := brunt.Load{Name: "cars", Count: 100, Results: folder, Do: func(context.Context, uint64) error { return nil }}
	if _, err := load.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	bundles, err := filepath.Glob(filepath.Join(folder, "cars-*"))
	if err != nil || len(bundles) != 1 {
		fmt.Println(bundles, err)
		return
	}
	result, err := brunt.Read(bundles[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	judged, err := result.Judge("count >= 100", "errors < 1%")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range judged.Rules {
		fmt.Println(r.Text, r.Holds)
	}
	// Output:
	// count >= 100 true
	// errors < 1% true
}

// upper is a protocol whose server is a function.
type upper struct{}

func (upper) Connect(context.Context, brunt.Target) (brunt.Session, error) {
	return upperSession{}, nil
}
func (upper) Classify(error) brunt.Failure { return brunt.Failure{Fatal: true} }

type upperSession struct{}

func (upperSession) Do(_ context.Context, r *brunt.Request) (*brunt.Reply, error) {
	return &brunt.Reply{Rows: [][]any{{strings.ToUpper(r.Words[0])}}}, nil
}
func (upperSession) Close() error { return nil }

// A protocol is registered once, usually by an init function, and then named by plans.
func ExampleRegister() {
	brunt.Register("upper", upper{})
	plan, err := brunt.ParsePlan("words.yml", []byte(`
target: {protocol: upper, addresses: [x]}
queries: [{name: shout, command: [hello], count: 10}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := plan.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Total.OK)
	// Output: 10
}
