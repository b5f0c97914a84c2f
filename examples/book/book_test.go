package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/plan/planfile"
	"brunt/test/testserver"
)

// The service carries out its seven operations, and refuses other requests in one line.
func TestOperations(t *testing.T) {
	pg := testserver.Postgres(t)
	dsn := fmt.Sprintf("postgres://%s@%s/%s", pg.User, pg.Addr, pg.Database)
	ctx := context.Background()
	if _, err := openStore(ctx, dsn, 2); err == nil || !strings.Contains(err.Error(), "brunt schema up") {
		t.Errorf("without the table: %v", err)
	}
	admin, err := openAdmin(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx,
		"create table bookv2 (id int primary key, author text, name text, price numeric(10, 2)); insert into bookv2 select g, 'автор ' || g, 'name ' || g, g from generate_series(1, 50) g"); err != nil {
		t.Fatal(err)
	}
	store, err := openStore(ctx, dsn, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer store.close()
	server := httptest.NewServer((&service{store: store, threads: make(chan struct{}, 2)}).routes())
	defer server.Close()
	do := func(method, path, body string, status int) string {
		t.Helper()
		request, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != status {
			t.Errorf("%s %s: %d, want %d: %s", method, path, answer.StatusCode, status, text)
		}
		return strings.TrimSpace(string(text))
	}
	seven := url.Values{"author": {"автор 7"}, "name": {"name 7"}}
	one := `[{"id":7,"author":"автор 7","name":"name 7","price":7}]`
	for _, q := range []string{seven.Encode(), "name=name+7", url.Values{"author": {"автор 7"}}.Encode()} {
		if got := do("GET", "/books?"+q, "", 200); got != one {
			t.Errorf("%s: %s", q, got)
		}
	}
	if got := do("PUT", "/books?price=9.5&"+seven.Encode(), "", 200); got != `{"rows":1}` {
		t.Error(got)
	}
	if got := do("DELETE", "/books?"+seven.Encode(), "", 200); got != `{"rows":1}` {
		t.Error(got)
	}
	if got := do("GET", "/books?"+seven.Encode(), "", 200); got != "[]" {
		t.Error(got)
	}
	if got := do("POST", "/books", `{"author": "a", "name": "n", "price": 3.25}`,
		200); got != `{"id":51,"author":"a","name":"n","price":3.25}` {
		t.Error(got)
	}
	var page bookPage
	if err := json.Unmarshal([]byte(do("GET", "/books?page=2", "", 200)), &page); err != nil || page.Total != 50 ||
		len(page.Books) != 10 || page.Books[9].ID != 51 {
		t.Errorf("%+v, %v", page, err)
	}
	do("GET", "/health", "", 200)
	do("GET", "/books", "", 400)
	do("GET", "/books?page=-1", "", 400)
	do("POST", "/books", "{", 400)
	do("PUT", "/books?price=dear", "", 400)
}

// The plan and the campaign that the programme prepares are valid for any number of rows.
func TestPreparedFiles(t *testing.T) {
	work, err := prepared(".", t.TempDir(), 5000)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(work, "plan.yml"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := planfile.Read("plan.yml", text)
	if err != nil || p.Tables[0].Rows != 5000 || len(p.Operations) != 7 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := prepared(".", t.TempDir(), 10); err == nil {
		t.Error("10 rows")
	}
	for _, args := range [][]string{{"serve", "--threads", "0"}, {"programme", "--brunt", "nowhere"}, {"dance"}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%q", args)
		}
	}
}
