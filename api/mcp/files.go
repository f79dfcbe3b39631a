package mcp

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/internal/fault"
	"aibox/internal/termtext"
)

// maxWritten is the maximum number of bytes that a call can write.
const maxWritten = 4 << 20

var readFileTool = tool{
	name: "read_file", title: "Read a file of a sandbox", effect: reads,
	description: `Read a part of a file in a sandbox, up to 16 KiB. Control characters appear as escapes in text; base64 returns the exact bytes. Paths are those of the sandbox: no file of this machine can be read.`,
}

type readFileInput struct {
	Sandbox  string `json:"sandbox" jsonschema:"id of the sandbox"`
	Path     string `json:"path" jsonschema:"path of the file in the sandbox, absolute or relative to the home folder"`
	Offset   int64  `json:"offset,omitempty" jsonschema:"first byte; 0 if absent"`
	Encoding string `json:"encoding,omitempty" jsonschema:"text or base64; text if absent"`
}

func (t sandboxTools) readFile(ctx context.Context, c *call, in readFileInput) (*answer, error) {
	if in.Encoding != "" && in.Encoding != "text" && in.Encoding != "base64" {
		return nil, fault.New(fault.Usage, "the encoding is text or base64, not %q", in.Encoding)
	}
	if in.Offset < 0 {
		return nil, fault.New(fault.Usage, "an offset is 0 or more, not %d", in.Offset)
	}
	ctx, api := t.api(ctx, c)
	info, err := api.StatFile(ctx, in.Sandbox, in.Path)
	if err != nil {
		return nil, err
	}
	data, err := api.ReadFile(ctx, in.Sandbox, in.Path, in.Offset, maxData/2)
	if err != nil {
		return nil, err
	}
	facts := struct {
		Sandbox string `json:"sandbox"`
		Size    int64  `json:"size"`
		Bytes   int    `json:"bytes"`
		Next    int64  `json:"next,omitempty"`    // the offset to continue reading from
		Escaped bool   `json:"escaped,omitempty"` // the text is not exact
	}{Sandbox: in.Sandbox, Size: info.GetSizeBytes(), Bytes: len(data)}
	var text string
	if in.Encoding == "base64" {
		text = base64.StdEncoding.EncodeToString(data)
	} else {
		data = cutRune(data)
		text, facts.Bytes = string(data), len(data)
		facts.Escaped = termtext.Text(text) != text
	}
	if end := in.Offset + int64(facts.Bytes); end < facts.Size {
		facts.Next = end
	}
	return &answer{facts: facts, data: []block{{"the content of the file", text}}}, nil
}

// cutRune returns data without an incomplete character at its end.
func cutRune(data []byte) []byte {
	for cut := 1; cut < utf8.UTFMax && cut < len(data); cut++ {
		if first := data[len(data)-cut]; utf8.RuneStart(first) {
			if !utf8.FullRune(data[len(data)-cut:]) {
				return data[:len(data)-cut]
			}
			break
		}
	}
	return data
}

var writeFileTool = tool{
	name: "write_file", title: "Write a file of a sandbox", effect: replaces, again: true,
	description: `Write a file in a sandbox, of up to 4 MiB. An existing file is replaced, and missing folders are created. Paths are those of the sandbox: no file of this machine can be changed.`,
}

type writeFileInput struct {
	Sandbox  string `json:"sandbox" jsonschema:"id of the sandbox"`
	Path     string `json:"path" jsonschema:"path of the file in the sandbox, absolute or relative to the home folder"`
	Content  string `json:"content" jsonschema:"the new content"`
	Encoding string `json:"encoding,omitempty" jsonschema:"how content is encoded: text or base64; text if absent"`
}

func (t sandboxTools) writeFile(ctx context.Context, c *call, in writeFileInput) (*answer, error) {
	data := []byte(in.Content)
	switch in.Encoding {
	case "", "text":
	case "base64":
		var err error
		if data, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			return nil, fault.New(fault.Usage, "the content is not base64: %w", err)
		}
	default:
		return nil, fault.New(fault.Usage, "the encoding is text or base64, not %q", in.Encoding)
	}
	if len(data) > maxWritten {
		return nil, fault.New(fault.Limit, "a call writes up to %d MiB", maxWritten>>20).Hint("write the file in parts, and join them with run_command")
	}
	ctx, api := t.api(ctx, c)
	if _, err := api.WriteFile(ctx, in.Sandbox, in.Path, data); err != nil {
		return nil, err
	}
	return &answer{facts: map[string]any{"sandbox": in.Sandbox, "bytes": len(data)}}, nil
}

var listFilesTool = tool{
	name: "list_files", title: "List files of a sandbox", effect: reads,
	description: `List the files of a folder in a sandbox, with their sizes.`,
}

type listFilesInput struct {
	Sandbox string `json:"sandbox" jsonschema:"id of the sandbox"`
	Path    string `json:"path" jsonschema:"path of the folder in the sandbox, absolute or relative to the home folder"`
	Depth   int32  `json:"depth,omitempty" jsonschema:"levels of folders; 1 if absent, at most 10"`
}

// maxFiles is the maximum number of files in a list.
const maxFiles = 500

func (t sandboxTools) listFiles(ctx context.Context, c *call, in listFilesInput) (*answer, error) {
	if in.Depth < 0 || in.Depth > 10 {
		return nil, fault.New(fault.Usage, "a list has up to 10 levels of folders, not %d", in.Depth)
	}
	ctx, api := t.api(ctx, c)
	page, err := api.ListFiles(ctx, &aiboxv1.ListFilesRequest{SandboxId: in.Sandbox, Path: in.Path, Depth: in.Depth, PageSize: maxFiles})
	if err != nil {
		return nil, err
	}
	var list strings.Builder
	listed := 0
	for _, e := range page.GetEntries() {
		line := fmt.Sprintf("%s %d %s\n", shortName(e.GetType().String(), "FILE_TYPE_"), e.GetSizeBytes(), termtext.Escape(e.GetPath()))
		if list.Len()+len(line) > maxData {
			break
		}
		list.WriteString(line)
		listed++
	}
	made := &answer{facts: map[string]any{
		"sandbox": in.Sandbox, "files": listed, "more": listed < len(page.GetEntries()) || page.GetNextPageToken() != "",
	}}
	if listed > 0 {
		made.data = []block{{"files of the sandbox: type, bytes, path", list.String()}}
	}
	return made, nil
}

// shortName returns the name of a value of the schema for display.
func shortName(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }
