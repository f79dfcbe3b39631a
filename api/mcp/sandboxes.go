package mcp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Sandboxes serves the tools for sandboxes. The tools call the API, so its tenants, rights,
// quotas and records apply.
type Sandboxes struct {
	// API returns the client for a call and its context. header is that of the request over
	// HTTP; nil on stdio.
	API func(ctx context.Context, header http.Header) (context.Context, *client.Client)
	// Bound returns an error if settings, with those of a template, are looser than the user
	// permits; nil leaves that check to the API.
	Bound func(ctx context.Context, template string, given config.RunOverrides) error
	// Base are the default settings of all sandboxes.
	Base map[string]string
	// Own is how many sandboxes the caller can have at once if it is an agent in a sandbox. Its
	// sandboxes share its limits. 0 means any other caller.
	Own int
	// OpenPort makes a port of a sandbox reachable and returns its URL.
	OpenPort func(ctx context.Context, header http.Header, id string, port int) (url string, err error)
}

// sandboxTools are the tools for sandboxes.
type sandboxTools struct{ *Sandboxes }

// addSandboxTools adds the tools for sandboxes.
func addSandboxTools(server *mcp.Server, config Config) {
	t := sandboxTools{config.Sandboxes}
	addTool(server, config, t.describeCreate(), t.create)
	addTool(server, config, listSandboxesTool, t.list)
	addTool(server, config, destroySandboxTool, t.destroy)
	addTool(server, config, runCodeTool, t.runCode)
	addTool(server, config, runCommandTool, t.runCommand)
	addTool(server, config, readFileTool, t.readFile)
	addTool(server, config, writeFileTool, t.writeFile)
	addTool(server, config, listFilesTool, t.listFiles)
	if t.Own == 0 {
		addTool(server, config, openPortTool, t.openPort)
	}
}

// api returns the client for a call.
func (t sandboxTools) api(ctx context.Context, c *call) (context.Context, *client.Client) {
	return t.API(ctx, c.header())
}

// header returns the header of the call's request over HTTP.
func (c *call) header() http.Header {
	if c.request.Extra == nil {
		return nil
	}
	return c.request.Extra.Header
}

var createSandboxTool = tool{
	name: "create_sandbox", title: "Create a sandbox", effect: adds, open: true,
	description: `Create an isolated machine for code and commands, and return its id. It has Python, Node, Ruby and bash unless another template is named.
It sees nothing of this machine: no files, no secrets, no programs. It has no network unless hosts are allowed, and only hosts that the user permits can be.
Its memory, processors and processes are limited. It ends with all its files at its timeout, or when destroy_sandbox is called.`,
}

// describeCreate describes create_sandbox for the caller.
func (t sandboxTools) describeCreate() tool {
	described := createSandboxTool
	if t.Own > 0 {
		described.description = fmt.Sprintf(`Create an isolated machine for code and commands, and return its id. It has Python, Node, Ruby and bash unless another template is named.
You can have %s at once. They share your own limits of memory, processors, processes, disk space and time: while one runs, you have less memory. Without memory_mib it gets an equal part.
It sees none of your files: use write_file and read_file. It has no network unless hosts are allowed, and only hosts that you can reach yourself can be. It reaches no model.
It ends with all its files at its timeout, when destroy_sandbox is called, or when your session ends.`, amount.Of(t.Own, "sandbox"))
	}
	return described
}

type createSandboxInput struct {
	Template string            `json:"template,omitempty" jsonschema:"what it is made from; code if absent"`
	Name     string            `json:"name,omitempty" jsonschema:"a name for list_sandboxes"`
	Timeout  string            `json:"timeout,omitempty" jsonschema:"end it after this time, such as 30m"`
	Network  string            `json:"network,omitempty" jsonschema:"what it can reach: none, local (the user's model server), allowlist or public; if absent, what the template or the default permits, which is mostly none"`
	Allow    []string          `json:"allow,omitempty" jsonschema:"hosts that it can reach: HOST, HOST:PORT, *.DOMAIN or a preset such as pypi or npm"`
	Memory   int               `json:"memory_mib,omitempty" jsonschema:"limit of its memory in MiB"`
	Env      map[string]string `json:"env,omitempty" jsonschema:"variables of the environment of its processes"`
}

// settings returns the settings of a call, as texts.
func (in *createSandboxInput) settings() (config.RunOverrides, error) {
	var given config.RunOverrides
	mode := in.Network
	if in.Allow != nil {
		if err := given.SetWords("allow", in.Allow); err != nil {
			return given, err
		}
		mode = cmp.Or(mode, "allowlist")
	}
	for _, setting := range [][2]string{{"timeout", in.Timeout}, {"network", mode}} {
		if setting[1] == "" {
			continue
		}
		if err := given.Set(setting[0], setting[1]); err != nil {
			return given, err
		}
	}
	if in.Memory != 0 {
		return given, given.Set("memory", strconv.Itoa(in.Memory))
	}
	return given, nil
}

// sandboxFacts describes a sandbox in answers.
type sandboxFacts struct {
	ID       string     `json:"sandbox"`
	Name     string     `json:"name,omitempty"`
	Template string     `json:"template"`
	State    string     `json:"state"`
	Created  time.Time  `json:"created"`
	Ends     *time.Time `json:"ends,omitempty"`
	Network  string     `json:"network"`
	Allow    []string   `json:"allow,omitempty"`
	More     int        `json:"more_allowed,omitempty"` // hosts that are not listed
	User     string     `json:"user,omitempty"`
	Dir      string     `json:"dir,omitempty"`
}

// maxHosts is the maximum number of hosts that an answer lists of a sandbox.
const maxHosts = 20

func factsOfSandbox(s *aiboxv1.Sandbox) sandboxFacts {
	facts := sandboxFacts{
		ID: s.GetSandboxId(), Name: s.GetName(), Template: s.GetTemplate(), State: shortName(s.GetState().String(), "SANDBOX_STATE_"),
		Created: s.GetCreateTime().AsTime(), Network: shortName(s.GetNetwork().GetMode().String(), "NETWORK_MODE_"),
		Allow: s.GetNetwork().GetAllow().GetHosts(), User: s.GetUser(), Dir: s.GetDir(),
	}
	if s.GetExpireTime() != nil {
		ends := s.GetExpireTime().AsTime()
		facts.Ends = &ends
	}
	if hosts := facts.Allow; len(hosts) > maxHosts {
		facts.Allow, facts.More = hosts[:maxHosts], len(hosts)-maxHosts
	}
	return facts
}

func (t sandboxTools) create(ctx context.Context, c *call, in createSandboxInput) (*answer, error) {
	given, err := in.settings()
	if err != nil {
		return nil, err
	}
	if t.Bound != nil {
		if err := t.Bound(ctx, in.Template, given); err != nil {
			return nil, err
		}
	}
	settings := maps.Clone(t.Base)
	if settings == nil {
		settings = map[string]string{}
	}
	for _, key := range given.Keys() {
		settings[key] = given.Text(key)
	}
	ctx, api := t.api(ctx, c)
	made, err := api.Create(ctx, &aiboxv1.CreateSandboxRequest{
		Template: in.Template, Name: in.Name, Env: in.Env, Settings: settings, Metadata: map[string]string{"created-by": "mcp"},
	})
	if err != nil {
		return nil, err
	}
	return &answer{facts: factsOfSandbox(made), next: "Call run_code or run_command to use it, and destroy_sandbox when it is not needed any more."}, nil
}

var listSandboxesTool = tool{
	name: "list_sandboxes", title: "List sandboxes", effect: reads,
	description: `List the sandboxes that have not ended, newest first. Other programs of the same user may have created some of them.`,
}

// maxSandboxes is the maximum number of sandboxes in a list.
const maxSandboxes = 50

func (t sandboxTools) list(ctx context.Context, c *call, _ struct{}) (*answer, error) {
	ctx, api := t.api(ctx, c)
	all, err := api.List(ctx, &aiboxv1.ListSandboxesRequest{PageSize: maxSandboxes})
	if err != nil {
		return nil, err
	}
	facts := struct {
		Sandboxes []sandboxFacts `json:"sandboxes"`
		More      int            `json:"more,omitempty"` // sandboxes that are not listed
	}{Sandboxes: []sandboxFacts{}}
	for _, s := range all[:min(len(all), maxSandboxes)] {
		facts.Sandboxes = append(facts.Sandboxes, factsOfSandbox(s))
	}
	count, err := fitting(facts.Sandboxes)
	if err != nil {
		return nil, err
	}
	facts.Sandboxes, facts.More = facts.Sandboxes[:count], len(all)-count
	return &answer{facts: facts}, nil
}

var destroySandboxTool = tool{
	name: "destroy_sandbox", title: "Destroy a sandbox", effect: replaces, again: true,
	description: `End a sandbox and remove all its files. This cannot be undone.`,
}

type sandboxInput struct {
	Sandbox string `json:"sandbox" jsonschema:"id of the sandbox, as create_sandbox returned it"`
}

func (t sandboxTools) destroy(ctx context.Context, c *call, in sandboxInput) (*answer, error) {
	ctx, api := t.api(ctx, c)
	if err := api.Destroy(ctx, in.Sandbox); err != nil {
		return nil, err
	}
	return &answer{facts: map[string]any{"sandbox": in.Sandbox, "destroyed": true}}, nil
}

var openPortTool = tool{
	name: "open_port", title: "Open a port of a sandbox", effect: adds, again: true,
	description: `Make a TCP port on which a program in a sandbox listens reachable from this machine, and return its URL. What the program serves is untrusted. Nothing in the sandbox can reach this machine by it.`,
}

type openPortInput struct {
	Sandbox string `json:"sandbox" jsonschema:"id of the sandbox"`
	Port    int    `json:"port" jsonschema:"the port in the sandbox, from 1 to 65535"`
}

func (t sandboxTools) openPort(ctx context.Context, c *call, in openPortInput) (*answer, error) {
	if in.Port < 1 || in.Port > 65535 {
		return nil, fault.New(fault.Usage, "%d is not a port", in.Port).Hint("use a number from 1 to 65535")
	}
	if t.OpenPort == nil {
		return nil, fault.New(fault.Environment, "this server cannot open ports")
	}
	url, err := t.OpenPort(ctx, c.header(), in.Sandbox, in.Port)
	if err != nil {
		return nil, err
	}
	return &answer{facts: map[string]any{"sandbox": in.Sandbox, "port": in.Port, "url": url}}, nil
}
