// Command s3 serves an in-memory object store for tests, with gofakes3. It accepts any credentials. It is a module of
// its own so that brunt doesn't depend on the modules of gofakes3.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9000", "address to listen on")
	bucket := flag.String("bucket", "", "name of the only bucket")
	flag.Parse()
	store := s3mem.New()
	if err := store.CreateBucket(*bucket); err != nil {
		fmt.Fprintln(os.Stderr, "s3:", err)
		os.Exit(1)
	}
	server := &http.Server{Addr: *listen, Handler: gofakes3.New(store).Server(), ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(os.Stderr, "s3:", server.ListenAndServe())
	os.Exit(1)
}
