package scale

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/protocol"
)

// link is a worker's connection to its coordinator.
type link struct {
	ticket  Ticket
	hello   Hello
	client  *http.Client
	address string // address of the coordinator that answered
}

// says returns a report of the worker's process.
func (k *link) says(state State) Report {
	return Report{Run: k.ticket.Run, Worker: k.ticket.Worker, Process: k.hello.Process, Host: k.hello.Host, State: state}
}

// find tries the coordinator's addresses until one answers.
func (k *link) find(ctx context.Context) error {
	timed, cancel := context.WithTimeout(ctx, max(patienceBefore, time.Duration(k.ticket.PatienceNs)))
	defer cancel()
	for {
		var last error
		for _, address := range k.ticket.Addresses {
			k.address = address
			var s sample
			if last = k.post(timed, 5*time.Second, "clock", nil, &s); last == nil {
				return nil
			}
			var refused *Error
			if errors.As(last, &refused) {
				return last
			}
		}
		if !protocol.Sleep(timed, 200*time.Millisecond) {
			return &Error{Code: exitcode.Unreachable, Text: fmt.Sprintf(
				"the coordinator can't be reached at %s: %v; see that a firewall lets the port through",
				strings.Join(k.ticket.Addresses, " or "), last)}
		}
	}
}

// tellFailure tells the coordinator why the worker gives up, and the exit code.
func (k *link) tellFailure(ctx context.Context, err error, code int) error {
	said := k.says(Failed)
	said.Error, said.Code = err.Error(), code
	var answer Answer
	return k.post(ctx, 0, "report", &said, &answer)
}

// post sends a message and decodes the answer. If the coordinator refuses it, the error is an *Error. A timeout of 0
// means that of ctx.
func (k *link) post(ctx context.Context, timeout time.Duration, what string, message, answer any) error {
	body, err := []byte(nil), error(nil)
	if r, ok := message.(*Report); ok {
		body, err = r.encode()
	} else {
		body, err = json.Marshal(message)
	}
	if err != nil {
		return err
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+k.address+"/"+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	return k.do(request, answer)
}

func (k *link) do(request *http.Request, answer any) error {
	response, err := k.client.Do(request)
	if expiredCertificate(err) {
		return &Error{Code: exitcode.BadPlan, Text: k.ticket.Identity.expired(time.Now())}
	}
	var foreign *tls.CertificateVerificationError
	if errors.As(err, &foreign) || err != nil && strings.Contains(err.Error(), "remote error: tls") {
		return &Error{Code: exitcode.BadPlan, Text: fmt.Sprintf(
			"what answers at %s is no coordinator of this run: its certificate is of another", k.address)}
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data := io.LimitReader(response.Body, mostBody)
	if response.StatusCode/100 == 2 {
		if answer == nil {
			return nil
		}
		return json.NewDecoder(data).Decode(answer)
	}
	refused := &refusal{}
	if err := json.NewDecoder(data).Decode(refused); err != nil {
		return fmt.Errorf("the coordinator answers %s", response.Status)
	}
	if response.StatusCode >= http.StatusInternalServerError {
		return refused
	}
	return &Error{Code: refused.Code, Text: refused.Text}
}

// expiredCertificate reports whether a TLS handshake failed because a certificate isn't valid at this time, by the
// clock of this machine or by that of the other one.
func expiredCertificate(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired ||
		err != nil && strings.Contains(err.Error(), "remote error: tls: expired certificate")
}

// send sends a file of the bundle to the coordinator.
func (k *link) send(ctx context.Context, bundle, name string) error {
	path := filepath.Join(bundle, filepath.FromSlash(name))
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	q := url.Values{"run": {k.ticket.Run}, "worker": {strconv.Itoa(k.ticket.Worker)}, "process": {k.hello.Process},
		"name": {name}}
	address, hash := "https://"+k.address+"/file?"+q.Encode(), hex.EncodeToString(sum.Sum(nil))
	if size > worthAsking {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		request.Header.Set(hashHeader, hash)
		if k.do(request, nil) == nil {
			return nil
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, io.LimitReader(file, size))
	if err != nil {
		return err
	}
	request.ContentLength = size
	request.Header.Set(hashHeader, hash)
	return k.do(request, nil)
}

// worthAsking is the size in bytes from which a worker asks whether the coordinator already has a file before sending
// it.
const worthAsking = 16 << 10
