package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/internal/fault"
	"aibox/internal/termtext"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// effect classifies the side effects of a tool, for the annotations of the protocol.
type effect int

// The effects.
const (
	reads    effect = iota // it changes nothing
	adds                   // it creates something, and replaces nothing
	replaces               // it can overwrite or end something
)

// tool describes a tool.
type tool struct {
	name, title string
	description string
	effect      effect
	again       bool // a second call with the same input changes nothing more
	open        bool // it can reach hosts outside of this machine, if they are allowed

	// right is the right that a caller over HTTP needs. Without one, the API checks the calls
	// that the tool makes.
	right aiboxv1.Right
}

// annotations are the tool's hints for clients.
func (t tool) annotations() *mcp.ToolAnnotations {
	destructive := t.effect == replaces
	return &mcp.ToolAnnotations{
		Title: t.title, ReadOnlyHint: t.effect == reads, DestructiveHint: &destructive,
		IdempotentHint: t.again || t.effect == reads, OpenWorldHint: &t.open,
	}
}

// call is one call of a tool.
type call struct {
	request  *mcp.CallToolRequest
	progress float64
}

// report sends a progress notification if the client requested them. text is escaped.
func (c *call) report(ctx context.Context, text string) {
	token := c.request.Params.GetProgressToken()
	if token == nil {
		return
	}
	c.progress++
	_ = c.request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: c.progress, Message: termtext.Escape(text),
	})
}

// subject returns the session that the input of the call names; empty if it names none.
func (c *call) subject() string {
	var in struct {
		Session string `json:"session"`
	}
	_ = json.Unmarshal(c.request.Params.Arguments, &in) // the input of a tool without a session has none
	return in.Session
}

// addTool adds a tool. The schema of its input is that of In. An error of the use case
// becomes a result that the client's model can read.
func addTool[In any](server *mcp.Server, config Config, t tool, use func(ctx context.Context, c *call, in In) (*answer, error)) {
	definition := &mcp.Tool{Name: t.name, Title: t.title, Description: strings.TrimSpace(t.description), Annotations: t.annotations()}
	mcp.AddTool(server, definition, func(ctx context.Context, request *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		c := &call{request: request}
		begin, own := time.Now(), t.right != aiboxv1.Right_RIGHT_UNSPECIFIED
		var made *answer
		var err error
		if config.Authorize != nil && own {
			err = config.Authorize(ctx, c.header(), t.right)
		}
		begun := err == nil
		if begun {
			made, err = use(ctx, c, in)
		}
		if config.Record != nil && own && (err != nil || t.effect != reads) {
			config.Record(ctx, c.header(), t.name, c.subject(), time.Since(begin), begun && t.effect != reads, err)
		}
		if err != nil && config.Shown != nil {
			err = config.Shown(ctx, err)
		}
		if err != nil {
			return failure(err), nil, nil
		}
		return made.result(), nil, nil
	})
}

// escapeErrors bounds and escapes the texts of failed calls: if an input does not match its
// schema, the SDK's text quotes the input unescaped.
func escapeErrors(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		if called, ok := result.(*mcp.CallToolResult); ok && err == nil && called.IsError {
			for _, content := range called.Content {
				if text, ok := content.(*mcp.TextContent); ok {
					text.Text = bounded(termtext.Text(text.Text), maxShown)
				}
			}
		}
		return result, err
	}
}

// refuseRepeated refuses a call whose arguments have a name twice, of which the SDK would drop
// one.
func refuseRepeated(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if called, ok := request.(*mcp.CallToolRequest); ok && len(called.Params.Arguments) > 0 {
			if _, err := jsontext.NewDecoder(bytes.NewReader(called.Params.Arguments)).ReadValue(); err != nil {
				return failure(fault.New(fault.Usage, "the arguments are not valid JSON: %w", err)), nil
			}
		}
		return next(ctx, method, request)
	}
}

// failure is the result for an error: the sentence, its kind and its hints.
func failure(err error) *mcp.CallToolResult {
	kind := fault.KindOf(err)
	text := err.Error()
	if kind == fault.Internal {
		var known *fault.Fault
		if !errors.As(err, &known) {
			text = "aibox failed: " + text
		}
	}
	var out strings.Builder
	out.WriteString(bounded(termtext.Text(text), maxError) + " (" + kind.String() + ")")
	for _, hint := range fault.Hints(err) {
		out.WriteString("\nHint: " + bounded(termtext.Escape(hint), maxError))
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: out.String()}}}
}
