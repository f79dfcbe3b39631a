package mcp

import (
	"context"
	"fmt"
	"io"
	"strings"

	"aibox/app/agentsession"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Reference writes a table of the tools, in Markdown. It gets the list as a client does, so
// that no tool is missing.
func Reference(out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	near, far := mcp.NewInMemoryTransports()
	server, err := New(Config{Sessions: &agentsession.Service{}, Sandboxes: &Sandboxes{}}).Connect(ctx, far, nil)
	if err != nil {
		return err
	}
	defer server.Close()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "reference"}, nil).Connect(ctx, near, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	listed, err := client.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Fprint(out, "| tool | what it does | effect |\n| --- | --- | --- |\n")
	for _, t := range listed.Tools {
		first, _, _ := strings.Cut(strings.ReplaceAll(t.Description, "\n", " "), ". ")
		fmt.Fprintf(out, "| `%s` | %s. | %s |\n", t.Name, strings.TrimSuffix(first, "."), describeEffect(t.Annotations))
	}
	return nil
}

// describeEffect describes the annotations of a tool.
func describeEffect(hints *mcp.ToolAnnotations) string {
	switch {
	case hints.ReadOnlyHint:
		return "reads"
	case hints.DestructiveHint != nil && *hints.DestructiveHint:
		return "can replace or end something"
	default:
		return "adds something"
	}
}
