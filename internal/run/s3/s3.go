// Package s3 stores folders of files, such as bundles, in an object store with the S3 API. It puts, gets and lists
// objects, and signs requests with AWS Signature Version 4. Credentials come from the environment and from the files
// that other S3 clients use. They are neither printed nor stored.
package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Scheme is the prefix of a place's address.
const Scheme = "s3://"

// Place is a bucket and a prefix of its keys.
type Place struct {
	Bucket string
	Prefix string // without / at either end; "" means the whole bucket
}

// Parse parses an address of the form s3://BUCKET/PREFIX.
func Parse(text string) (Place, error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	bucket, prefix, _ := strings.Cut(rest, "/")
	if !ok || bucket == "" || strings.ContainsAny(bucket, ":@?#") {
		return Place{}, fmt.Errorf("%s: write s3://BUCKET/PREFIX", text)
	}
	return Place{Bucket: bucket, Prefix: strings.Trim(prefix, "/")}, nil
}

// String returns the place's address.
func (p Place) String() string { return strings.TrimSuffix(Scheme+p.Bucket+"/"+p.Prefix, "/") }

// In returns the place with the given name below p.
func (p Place) In(name string) Place {
	return Place{Bucket: p.Bucket, Prefix: strings.Trim(p.Prefix+"/"+name, "/")}
}

// Store is an object store. It is safe for concurrent use.
type Store struct {
	o      Options
	client *http.Client
	signer *signer.Signer
	now    func() time.Time
	pause  time.Duration // before the second attempt
}

// attempts is the largest number of times that a request is sent if it fails for a temporary reason.
const attempts = 4

// New returns the object store that o describes.
func New(o Options) *Store {
	return &Store{
		o: o, client: &http.Client{}, now: time.Now, pause: time.Second,
		signer: signer.NewSigner(func(s *signer.SignerOptions) { s.DisableURIPathEscaping = true }),
	}
}

// address returns the URL of a key.
func (s *Store) address(bucket, key string) *url.URL {
	base := s.o.Endpoint
	if base == "" {
		base = "https://s3." + s.o.Region + ".amazonaws.com"
		if !strings.Contains(bucket, ".") { // a wildcard certificate covers only one level of names
			base = "https://" + bucket + ".s3." + s.o.Region + ".amazonaws.com"
			bucket = ""
		}
	}
	u, err := url.Parse(base)
	if err != nil { // can't happen: FromEnvironment has checked the endpoint
		u = &url.URL{}
	}
	path := strings.TrimSuffix(u.Path, "/")
	if bucket != "" {
		path += "/" + bucket
	}
	u.Path = path + "/" + key
	u.RawPath = escape(u.Path)
	return u
}

// escape percent-encodes a path as the signature requires: everything except unreserved characters and slashes.
func escape(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c == '/' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("-_.~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// emptyHash is the SHA-256 of empty input.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// do sends a request and passes a successful response to read. It repeats the request, with doubling pauses, if it
// fails for a temporary reason.
func (s *Store) do(ctx context.Context, method string, u *url.URL, body io.ReadSeeker, size int64,
	read func(*http.Response) error) error {
	hash := emptyHash
	if body != nil {
		sum := sha256.New()
		if _, err := io.Copy(sum, body); err != nil {
			return err
		}
		hash = hex.EncodeToString(sum.Sum(nil))
	}
	pause := s.pause
	for attempt := 1; ; attempt++ {
		again, err := s.once(ctx, method, u, body, size, hash, read)
		if err == nil || !again || attempt == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// once sends a request once. again reports whether another attempt makes sense.
func (s *Store) once(ctx context.Context, method string, u *url.URL, body io.ReadSeeker, size int64, hash string,
	read func(*http.Response) error) (again bool, err error) {
	var from io.Reader
	if body != nil {
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
		if size > 0 { // an empty reader would mean an unknown length
			from = io.LimitReader(body, size)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, u.String(), from)
	if err != nil {
		return false, err
	}
	request.ContentLength = size
	request.Header.Set("X-Amz-Content-Sha256", hash)
	who := aws.Credentials{AccessKeyID: s.o.key, SecretAccessKey: s.o.secret, SessionToken: s.o.session}
	err = s.signer.SignHTTP(ctx, who, request, hash, "s3", s.o.Region, s.now())
	if err != nil {
		return false, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // leave out the URL, which adds no information
			err = u.Err
		}
		return ctx.Err() == nil, err
	}
	defer response.Body.Close()
	if response.StatusCode/100 == 2 {
		return true, read(response)
	}
	return response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests, refused(response)
}

// refused returns the error for an unsuccessful response.
func refused(response *http.Response) error {
	var said struct {
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
	}
	_ = xml.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&said) // without XML, the status is reported
	hint := ""
	switch {
	case response.StatusCode == http.StatusForbidden:
		hint = "; see the credentials and the rights on the bucket"
	case response.StatusCode == http.StatusNotFound:
		hint = "; see that the bucket exists, and the region"
	case response.StatusCode == http.StatusMovedPermanently || response.StatusCode == http.StatusBadRequest:
		hint = "; see AWS_REGION"
	}
	if said.Code == "" {
		return fmt.Errorf("the object store answers %s%s", response.Status, hint)
	}
	return fmt.Errorf("the object store answers %s: %s%s", said.Code, said.Message, hint)
}

// Put stores an object of size bytes.
func (s *Store) Put(ctx context.Context, p Place, body io.ReadSeeker, size int64) error {
	return s.do(ctx, http.MethodPut, s.address(p.Bucket, p.Prefix), body, size,
		func(r *http.Response) error { return discard(r) })
}

func discard(r *http.Response) error {
	_, err := io.Copy(io.Discard, r.Body)
	return err
}

// Get passes an object to read. It calls read again if the connection breaks.
func (s *Store) Get(ctx context.Context, p Place, read func(io.Reader) error) error {
	return s.do(ctx, http.MethodGet, s.address(p.Bucket, p.Prefix), nil, 0,
		func(r *http.Response) error { return read(r.Body) })
}

// mostListed limits the bytes that are read of one page of a listing.
const mostListed = 16 << 20

// List returns the keys of the objects below a place, relative to it.
func (s *Store) List(ctx context.Context, p Place) (names []string, err error) {
	prefix := p.Prefix + "/"
	if p.Prefix == "" {
		prefix = ""
	}
	token := ""
	for {
		u := s.address(p.Bucket, "")
		q := url.Values{"list-type": {"2"}, "prefix": {prefix}}
		if token != "" {
			q.Set("continuation-token", token)
		}
		u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
		var page struct {
			Contents []struct {
				Key string `xml:"Key"`
			} `xml:"Contents"`
			Truncated bool   `xml:"IsTruncated"`
			Next      string `xml:"NextContinuationToken"`
		}
		err := s.do(ctx, http.MethodGet, u, nil, 0, func(r *http.Response) error {
			return xml.NewDecoder(io.LimitReader(r.Body, mostListed)).Decode(&page)
		})
		if err != nil {
			return nil, err
		}
		for _, c := range page.Contents {
			names = append(names, strings.TrimPrefix(c.Key, prefix))
		}
		if !page.Truncated || page.Next == "" || page.Next == token {
			return names, nil
		}
		token = page.Next
	}
}
