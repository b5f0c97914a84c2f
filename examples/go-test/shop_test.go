package shop

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"brunt"
)

// The shop sells 500 cars a second. The rule is loose, because this test also runs where much else does; for a service
// of its own machine, write "response.p(99) < 20ms".
func TestShopHolds500(t *testing.T) {
	server := httptest.NewServer(&Shop{})
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()

	buy := func(ctx context.Context, n uint64) error {
		url := fmt.Sprintf("%s/car-%d", server.URL, n%100)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return &brunt.Failure{Code: fmt.Sprint(answer.StatusCode), Text: answer.Status}
		}
		return nil
	}

	brunt.Load{
		Do:       buy,
		Rate:     500,
		Duration: time.Second,
		WarmUp:   200 * time.Millisecond,
		Rules:    []string{"response.p(99) < 10s", "errors < 0.1%"},
	}.Test(t)
}
