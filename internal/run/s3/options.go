package s3

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Options contain the address of an object store and the credentials for it.
type Options struct {
	Endpoint string // URL; "" means Amazon's endpoint for the region
	Region   string

	key, secret, session string
}

// FromEnvironment reads the settings of the AWS command line: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN, AWS_REGION or AWS_DEFAULT_REGION, and AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL. Settings that are
// not set are taken from the profile AWS_PROFILE in ~/.aws/credentials and ~/.aws/config. Roles and credential services
// are not supported. It fails if there are no credentials, or if the endpoint is not a URL.
func FromEnvironment() (Options, error) {
	profile := cmp.Or(os.Getenv("AWS_PROFILE"), "default")
	settings, err := profileFile("AWS_CONFIG_FILE", "config", profile)
	if err != nil {
		return Options{}, err
	}
	keys, err := profileFile("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile)
	if err != nil {
		return Options{}, err
	}
	o := Options{
		Endpoint: cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), settings["endpoint_url"]),
		Region:   cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), settings["region"], "us-east-1"),
	}
	if o.key = os.Getenv("AWS_ACCESS_KEY_ID"); o.key != "" {
		o.secret, o.session = os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")
	} else {
		for _, from := range []map[string]string{keys, settings} {
			if o.key == "" {
				o.key, o.secret, o.session = from["aws_access_key_id"], from["aws_secret_access_key"], from["aws_session_token"]
			}
		}
	}
	if o.key == "" || o.secret == "" {
		return o, errors.New(
			"no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE with ~/.aws/credentials")
	}
	if o.Endpoint != "" {
		if u, err := url.Parse(o.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return o, errors.New("AWS_ENDPOINT_URL is not a URL such as https://minio:9000")
		}
	}
	return o, nil
}

// profileFile returns the settings of a profile. The file is named by an environment variable, or is in ~/.aws. A
// missing file is treated as empty.
func profileFile(variable, name, profile string) (map[string]string, error) {
	path := os.Getenv(variable)
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil //nolint:nilerr // without a home there is no file
		}
		path = filepath.Join(home, ".aws", name)
	}
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("credentials for the object store: %w", err)
	}
	defer file.Close()
	found, inside := map[string]string{}, false
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if header, ok := strings.CutPrefix(line, "["); ok {
			header = strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(header, "]"), "profile "))
			inside = header == profile
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if inside && ok && !strings.HasPrefix(line, "#") {
			found[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return found, lines.Err()
}
