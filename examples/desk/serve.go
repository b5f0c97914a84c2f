package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"brunt/examples/internal/example"
)

const headerTime = 5 * time.Second // limit for receiving the header of a request

// serve serves until ctx ends.
func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("desk serve", flag.ContinueOnError)
	address := flags.String("address", os.Getenv("DESK_ADDRESS"), "host:port to serve at (DESK_ADDRESS)")
	dsn := flags.String("dsn", os.Getenv("DESK_PG"), "the database: postgres://user@host:5432/name (DESK_PG)")
	pool := flags.Int("pool", example.Number("POOL", 12), "connections to the database (POOL)")
	notifiers := flags.Int("notifiers", example.Number("NOTIFIERS", 6), "connections of the notifier (NOTIFIERS)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *address == "" || *dsn == "" || *pool < 1 || *notifiers < 1 {
		return errors.New("--address and --dsn must be given, and --pool and --notifiers must be at least 1")
	}
	store, err := openStore(ctx, *dsn, *pool, *notifiers)
	if err != nil {
		return err
	}
	defer store.close()
	server := &http.Server{Addr: *address, Handler: routes(store), ReadHeaderTimeout: headerTime}
	fmt.Fprintf(os.Stderr, "desk: serving at http://%s\n", *address)
	return example.Serve(ctx, server)
}

func routes(s *store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	answer := func(pattern string, parameters []string, do func(ctx context.Context, values []string) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			var values []string
			for _, p := range parameters {
				values = append(values, r.URL.Query().Get(p))
			}
			out, err := do(r.Context(), values)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(out) // fails only if the client has gone
		})
	}
	answer("GET /customers", []string{"email"}, s.signIn)
	answer("GET /tickets", []string{"customer"}, s.tickets)
	answer("GET /archive", []string{"page"}, s.archive)
	answer("POST /tickets", []string{"customer", "title"}, s.open)
	answer("POST /notifications", []string{"ticket"}, s.notify)
	return mux
}
