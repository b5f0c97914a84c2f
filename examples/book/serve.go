package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"brunt/examples/internal/example"
)

const (
	pageSize = 20
	waitTime = 30 * time.Second // limit for a request, including the wait for a thread and a connection
)

// service answers requests, as many at a time as it has threads.
type service struct {
	store   *store
	threads chan struct{}
}

// serve serves until ctx ends.
func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("book serve", flag.ContinueOnError)
	address := flags.String("address", cmp.Or(os.Getenv("BOOK_ADDRESS"), "127.0.0.1:8080"),
		"host:port to serve at (BOOK_ADDRESS)")
	dsn := flags.String("dsn", os.Getenv("BOOK_PG"), "the database: postgres://user@host:5432/name (BOOK_PG)")
	threads := flags.Int("threads", example.Number("THREADS", 5), "requests that are worked on at a time (THREADS)")
	pool := flags.Int("pool", example.Number("POOL", 3), "connections to the database (POOL)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *threads < 1 || *pool < 1 || *dsn == "" {
		return errors.New("--threads and --pool must be at least 1, and --dsn must name a database")
	}
	store, err := openStore(ctx, *dsn, *pool)
	if err != nil {
		return err
	}
	defer store.close()
	s := &service{store: store, threads: make(chan struct{}, *threads)}
	server := &http.Server{Addr: *address, Handler: s.routes(), ReadHeaderTimeout: waitTime}
	fmt.Fprintf(os.Stderr, "book: serving at http://%s with %d threads and %d connections\n", *address, *threads, *pool)
	return example.Serve(ctx, server)
}

func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("GET /books", s.worked(s.find))
	mux.Handle("POST /books", s.worked(s.add))
	mux.Handle("PUT /books", s.worked(s.setPrice))
	mux.Handle("DELETE /books", s.worked(s.remove))
	return mux
}

// worked returns a handler that takes a thread, calls do, and sends the result as JSON.
func (s *service) worked(do func(context.Context, *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), waitTime)
		defer cancel()
		select {
		case s.threads <- struct{}{}:
			defer func() { <-s.threads }()
		case <-ctx.Done():
			http.Error(w, "no thread was free", http.StatusServiceUnavailable)
			return
		}
		answer, err := do(ctx, r)
		var bad *badRequest
		switch {
		case errors.As(err, &bad):
			http.Error(w, bad.text, http.StatusBadRequest)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_ = json.NewEncoder(w).Encode(answer) // fails only if the client has gone
		}
	})
}

// badRequest is an error in a client's request.
type badRequest struct{ text string }

func (b *badRequest) Error() string { return b.text }

// find returns the books of an author, with a name, with both, or on a page.
func (s *service) find(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	author, name := q.Get("author"), q.Get("name")
	switch {
	case author != "" && name != "":
		return s.store.byNameAndAuthor(ctx, name, author)
	case author != "":
		return s.store.byAuthor(ctx, author)
	case name != "":
		return s.store.byName(ctx, name)
	}
	page, err := strconv.Atoi(q.Get("page"))
	if err != nil || page < 0 {
		return nil, &badRequest{"give author, name or page"}
	}
	return s.store.page(ctx, page)
}

func (s *service) add(ctx context.Context, r *http.Request) (any, error) {
	var b book
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil || b.Author == "" || b.Name == "" {
		return nil, &badRequest{"give author, name and price as JSON"}
	}
	return s.store.add(ctx, b)
}

func (s *service) setPrice(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	price, err := strconv.ParseFloat(q.Get("price"), 64)
	if err != nil {
		return nil, &badRequest{"give author, name and price"}
	}
	return s.store.setPrice(ctx, q.Get("author"), q.Get("name"), price)
}

func (s *service) remove(ctx context.Context, r *http.Request) (any, error) {
	return s.store.remove(ctx, r.URL.Query().Get("author"), r.URL.Query().Get("name"))
}
