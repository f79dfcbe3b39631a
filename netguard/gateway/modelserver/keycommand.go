package modelserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/internal/secretsource"
)

// commandKey is a key that a program prints: "pass show …", "gcloud auth
// print-access-token". It runs without a shell, on the user's side, with the few variables
// that such programs need.
type commandKey struct {
	argv     []string
	lifetime time.Duration // how long a key is used; 0 means until it is refused
}

// load runs the program. Its output is never part of an error.
func (c commandKey) load(ctx context.Context) (Credential, error) {
	output, err := secretsource.Run(ctx, c.argv, "key command")
	if err != nil {
		return Credential{}, err
	}
	credential, err := readCredential(output, time.Now())
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

// readCredential reads a program's output: a key on a line by itself; the answer of an
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
