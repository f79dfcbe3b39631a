package modelserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/internal/termtext"
)

const (
	keyTimeout = 30 * time.Second // for a command; some ask the user for a password
	keyOutput  = 64 << 10         // bytes
)

// commandKey is a key that a program prints: "pass show …", "gcloud auth
// print-access-token". It runs without a shell, on the user's side, with the few variables
// that such programs need.
type commandKey struct {
	argv     []string
	lifetime time.Duration // 0 means until it is refused
}

// boundedBuffer keeps what fits, and fails a program that prints more.
type boundedBuffer struct {
	kept bytes.Buffer
	full bool // the program printed more
}

var errLongOutput = errors.New("the output is too long")

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > keyOutput {
		b.full = true
		return 0, errLongOutput
	}
	return b.kept.Write(p)
}

// load runs the program. Its output is never part of an error.
func (c commandKey) load(ctx context.Context) (Credential, error) {
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	var out boundedBuffer
	err := command.Cmd{Name: c.argv[0], Args: c.argv[1:], Env: command.User(), Stdout: &out, Group: true}.Run(ctx)
	if err != nil {
		return Credential{}, c.failed(ctx, err, out.full)
	}
	credential, err := readCredential(out.kept.Bytes(), time.Now())
	if err != nil {
		return Credential{}, fault.New(fault.Environment, "the key command %s %w", printable(c.argv[0]), err).
			Hint("run it yourself: it has to print the key alone, or a token as JSON")
	}
	if credential.Expires.IsZero() && c.lifetime > 0 {
		credential.Expires = time.Now().Add(c.lifetime)
	}
	u := Server{Key: credential.Key, keyPlace: "the output of " + printable(c.argv[0])}
	return credential, u.CheckKey()
}

// failed explains a failure with the last line that the program printed on stderr.
func (c commandKey) failed(ctx context.Context, err error, tooLong bool) error {
	failure, _ := errors.AsType[*command.Error](err)
	why := "cannot be run"
	switch {
	case tooLong: // the exit code depends on how the program takes it
		why = fmt.Sprintf("printed more than %d bytes", keyOutput)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		why = "took longer than " + keyTimeout.String()
	case failure != nil && failure.Code > 0:
		lines := strings.Split(strings.TrimSpace(failure.Stderr), "\n")
		why = "failed"
		if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
			why += ": " + termtext.Escape(last[:min(len(last), 200)])
		}
	}
	return fault.New(fault.Environment, "the key command %s %s", printable(c.argv[0]), why).
		Hint("run it yourself; it runs without a shell, and has 30 seconds")
}

// readCredential reads what a program prints: a key alone on its line; the answer of an
// OAuth server (RFC 6749, section 5.1); or the keys of an AWS account as a
// credential_process prints them.
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html
func readCredential(output []byte, now time.Time) (Credential, error) {
	text := strings.TrimSpace(string(output))
	if text == "" {
		return Credential{}, errors.New("printed nothing")
	}
	if text[0] != '{' {
		if strings.ContainsAny(text, "\r\n") {
			return Credential{}, errors.New("printed more than one line")
		}
		return Credential{Key: secret.New(text)}, nil
	}
	var answer struct {
		AccessToken  string `json:"access_token"`
		ExpiresIn    int64  `json:"expires_in"`
		AccessKeyID  string `json:"AccessKeyId"`
		SecretKey    string `json:"SecretAccessKey"`
		SessionToken string `json:"SessionToken"`
		Expiration   string `json:"Expiration"`
	}
	if json.Unmarshal([]byte(text), &answer) != nil {
		return Credential{}, errors.New("printed JSON that cannot be read")
	}
	switch {
	case answer.AccessToken != "":
		c := Credential{Key: secret.New(answer.AccessToken)}
		if answer.ExpiresIn > 0 && answer.ExpiresIn < 1<<31 {
			c.Expires = now.Add(time.Duration(answer.ExpiresIn) * time.Second)
		}
		return c, nil
	case answer.AccessKeyID != "" && answer.SecretKey != "":
		c := Credential{AccessKeyID: answer.AccessKeyID, Key: secret.New(answer.SecretKey), SessionToken: secret.New(answer.SessionToken)}
		if at, err := time.Parse(time.RFC3339, answer.Expiration); err == nil {
			c.Expires = at
		}
		return c, nil
	default:
		return Credential{}, errors.New("printed JSON without an access_token")
	}
}
