package modelserver

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/netguard/gateway/schema"
)

// bedrock is Amazon Bedrock by the APIs of Anthropic and OpenAI that it offers. It accepts a
// Bedrock key as a bearer token, or requests signed with the keys of an AWS account.
// Bedrock's own APIs, Converse and InvokeModel, have other bodies and streams that no agent
// speaks. https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html
// https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html
// https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
type bedrock struct{ region string }

func (p Provider) bedrock(env func(string) (string, bool)) (Server, []string, error) {
	region := firstOf(p.Region, env, "AWS_REGION", "AWS_DEFAULT_REGION")
	if err := p.checkPlace("region", region, "export AWS_REGION=…", "or set region under [providers."+p.Name+"]"); err != nil {
		return Server{}, nil, err
	}
	address := p.URL
	if address == "" {
		address = "https://bedrock-runtime." + region + ".amazonaws.com"
	}
	root, err := parseRoot(address)
	u := Server{Kind: Hosted, URL: root, Dialects: []schema.Dialect{schema.Anthropic, schema.OpenAI}, cloud: bedrock{region}}
	if _, ok := env("AWS_BEARER_TOKEN_BEDROCK"); !ok {
		account, ok := accountKeys(env)
		if ok {
			u.keys, u.keyPlace = newKeySource(fixed(account)), "AWS_ACCESS_KEY_ID"
		}
	}
	return u, []string{"AWS_BEARER_TOKEN_BEDROCK"}, err
}

// accountKeys returns the keys of an AWS account from the environment.
func accountKeys(env func(string) (string, bool)) (Credential, bool) {
	id, key := firstOf("", env, "AWS_ACCESS_KEY_ID"), firstOf("", env, "AWS_SECRET_ACCESS_KEY")
	token := firstOf("", env, "AWS_SESSION_TOKEN")
	return Credential{AccessKeyID: id, Key: secret.New(key), SessionToken: secret.New(token)}, id != "" && key != ""
}

func (bedrock) route(c Call, path string) (string, url.Values, bool) {
	if c.Dialect == schema.Anthropic {
		return "/anthropic" + path, nil, strings.HasPrefix(path, "/v1/messages")
	}
	switch path {
	case "/v1/chat/completions", "/v1/responses":
		return "/openai" + path, nil, true
	}
	return "", nil, false
}

// authorize signs the request, whose body must be readable twice, unless the credential is
// a bearer token.
func (b bedrock) authorize(r *http.Request, _ Call, credential Credential) error {
	if credential.AccessKeyID == "" {
		r.Header.Set("Authorization", "Bearer "+credential.Key.Reveal())
		return nil
	}
	sum := sha256.New()
	if r.Body != nil && r.Body != http.NoBody {
		if r.GetBody == nil {
			return fault.New(fault.Internal, "a request to Bedrock cannot be read twice")
		}
		body, err := r.GetBody()
		if err != nil {
			return err
		}
		defer body.Close()
		if _, err := io.Copy(sum, body); err != nil {
			return err
		}
	}
	r.Header.Del("X-Amz-Date")
	r.Header.Del("X-Amz-Security-Token")
	keys := aws.Credentials{AccessKeyID: credential.AccessKeyID, SecretAccessKey: credential.Key.Reveal(), SessionToken: credential.SessionToken.Reveal()}
	return v4.NewSigner().SignHTTP(r.Context(), keys, r, hex.EncodeToString(sum.Sum(nil)), "bedrock", b.region, time.Now())
}

func (bedrock) dialects(model string) []schema.Dialect {
	if strings.Contains(model, "anthropic.") {
		return []schema.Dialect{schema.Anthropic}
	}
	return []schema.Dialect{schema.OpenAI}
}
