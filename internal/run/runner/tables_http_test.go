package runner

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"brunt/internal/plan/planfile"
	"brunt/internal/server/target"
)

// A load of a service may refer to rows of tables that the service uses. Only creating the tables is refused.
func TestTablesBehindAService(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	p, err := planfile.Read("x.yml", []byte(`
target: {protocol: http, addresses: ["`+strings.TrimPrefix(server.URL, "http://")+`"]}
tables_schema:
  - {name: book, row_count: 10, columns: [{name: id, type: Integer, range: [1, 10], unique: true}], primary_keys: [id]}
queries:
  - {name: get, http: "/$1", params: [{type: Reference, table: book, column: id}], count: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	var u *target.UsageError
	if _, err := Run(context.Background(), nil, p, Options{Recording: Recording{None: true}}); !errors.As(err, &u) ||
		!strings.Contains(err.Error(), "--no-setup") {
		t.Errorf("with set-up: %v", err)
	}
	run, err := Run(context.Background(), nil, p, Options{Recording: Recording{None: true}, NoSetup: true})
	if err != nil || run.Total.Done != 3 {
		t.Errorf("%+v, %v", run, err)
	}
}
