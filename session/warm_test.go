package session

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/runtime"
)

// sandboxLaunch is the launch of a sandbox for which a warm one can be used.
func sandboxLaunch() Launch {
	return Launch{
		ImageID: "sha256:1",
		Spec: Spec{
			Agent: SandboxAgent,
			Run:   config.Run{Network: "allowlist", Allow: []string{"a.example"}, Memory: 512, Pids: 100},
			Sandbox: &SandboxSpec{
				Tenant: "acme", Template: "code", User: "user", Dir: "/home/user", Permissions: Permissions{Inbound: []int{80}},
			},
		},
	}
}

// warmed is a warm sandbox for that launch.
func warmed(t *testing.T, l Launch) *Launch {
	t.Helper()
	b, ok := l.Blueprint(runtime.Process{PID: 1})
	if !ok {
		t.Fatal("no warm sandbox can serve the launch")
	}
	b.Spec.ID, b.Spec.Created = "00001-sandbox", time.Now()
	return &b
}

func TestAClaimSetsOnlyTheValuesOfItsTenant(t *testing.T) {
	asked := sandboxLaunch()
	asked.Env, asked.Spec.Env = []string{"A=b"}, []string{"A"}
	asked.Spec.Timeout, asked.Spec.IdleTimeout = 60e9, 30e9
	asked.Spec.Sandbox.Labels, asked.Spec.Sandbox.OnTimeout = Labels{Name: "x"}, Pause
	warm := warmed(t, sandboxLaunch())
	if warm.Spec.Sandbox.Tenant != "" || warm.Spec.Sandbox.Warm == nil {
		t.Errorf("the warm sandbox has a tenant: %+v", warm.Spec.Sandbox)
	}
	claim := Claim{Launch: asked, Facts: "f"}
	got, err := claim.Accept(warm, "f")
	if err != nil {
		t.Fatal(err)
	}
	want := asked
	want.Spec.ID, want.Spec.Created = warm.Spec.ID, warm.Spec.Created
	own := *asked.Spec.Sandbox
	own.Claimed = true
	want.Spec.Sandbox = &own
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v %+v\nwant %+v %+v", got, got.Spec.Sandbox, want, want.Spec.Sandbox)
	}
}

func TestAClaimOfAnotherKindOfSandboxIsRefused(t *testing.T) {
	changes := map[string]func(*Claim){
		"facts":        func(c *Claim) { c.Facts = "other" },
		"image":        func(c *Claim) { c.Launch.ImageID = "sha256:2" },
		"policy":       func(c *Claim) { c.Launch.Spec.Network = "public" },
		"allow list":   func(c *Claim) { c.Launch.Spec.Allow = []string{"a.example", "b.example"} },
		"empty list":   func(c *Claim) { c.Launch.Spec.Allow = []string{} },
		"deny list":    func(c *Claim) { c.Launch.Spec.Deny = []string{"a.example"} },
		"memory":       func(c *Claim) { c.Launch.Spec.Memory = 1024 },
		"template":     func(c *Claim) { c.Launch.Spec.Sandbox.Template = "other" },
		"user":         func(c *Claim) { c.Launch.Spec.Sandbox.User = "root" },
		"root":         func(c *Claim) { c.Launch.Spec.Sandbox.Permissions.Root = true },
		"ports":        func(c *Claim) { c.Launch.Spec.Sandbox.Permissions.Inbound = nil },
		"no ports":     func(c *Claim) { c.Launch.Spec.Sandbox.Permissions.Inbound = []int{} },
		"hidden files": func(c *Claim) { c.Launch.Spec.Sandbox.Permissions.Files.Hidden = []string{"/x"} },
		"no write":     func(c *Claim) { c.Launch.Spec.Sandbox.Permissions.Files.Write = []string{} },
		"children":     func(c *Claim) { c.Launch.Spec.Sandbox.Permissions.Processes.NoChildren = true },
		"denied":       func(c *Claim) { c.Launch.Spec.Sandbox.Denied = []string{"x.example"} },
		"program":      func(c *Claim) { c.Launch.Spec.Sandbox.Services = []Service{{Argv: []string{"x"}}} },
		"volume":       func(c *Claim) { c.Launch.Spec.Sandbox.Volumes = []VolumeMount{{Volume: "v", Path: "/v"}} },
		"snapshot":     func(c *Claim) { c.Launch.Spec.Sandbox.Snapshot = "snap-1" },
		"secret":       func(c *Claim) { c.Launch.Injected = map[string]string{"A": "b"} },
		"agent":        func(c *Claim) { c.Launch.Spec.Sandbox = nil },
	}
	for name, change := range changes {
		claim := Claim{Launch: sandboxLaunch(), Facts: "f"}
		change(&claim)
		if _, err := claim.Accept(warmed(t, sandboxLaunch()), "f"); fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	claim := Claim{Launch: sandboxLaunch(), Facts: "f"}
	cold := sandboxLaunch()
	if _, err := claim.Accept(&cold, "f"); fault.KindOf(err) != fault.Refused {
		t.Errorf("a sandbox that is not warm: %v", err)
	}
}

// perClaim are the settings that a claim sets, and those that do not apply to a sandbox.
var perClaim = []string{"timeout", "idle-timeout", "env", "system", "accept", "require-changes"}

func TestEverySettingOfARunIsPartOfTheKeyOfAWarmSandbox(t *testing.T) {
	key := func(run config.Run) string {
		l := sandboxLaunch()
		l.Spec.Run = run
		key, ok := l.WarmKey("f")
		if !ok {
			return "none can serve it"
		}
		return key
	}
	base := sandboxLaunch().Spec.Run
	for _, field := range config.RunFields() {
		if slices.Contains(perClaim, field.Key) {
			continue
		}
		changed := base
		value := reflect.ValueOf(&changed).Elem().FieldByName(field.Name)
		switch value.Kind() {
		case reflect.String:
			value.SetString(value.String() + "x")
		case reflect.Bool:
			value.SetBool(!value.Bool())
		case reflect.Int, reflect.Int64:
			value.SetInt(value.Int() + 7)
		case reflect.Float64:
			value.SetFloat(value.Float() + 7)
		case reflect.Slice:
			value.Set(reflect.ValueOf([]string{"x"}))
		default:
			t.Fatalf("%s is a %v", field.Key, value.Kind())
		}
		if key(changed) == key(base) {
			t.Errorf("a claim with another %s has the same key", field.Key)
		}
	}
}
