package custom

import (
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/config"
)

// These names are reserved for aibox. Tests of package cli compare the lists with the
// flags of `aibox run` and the keys that the gateway reads.

// ownFlags has the flags of `aibox run` for all agents, except those of run settings.
var ownFlags = []string{
	"agent", "branch", "detach", "form", "help", "interactive", "json", "no-feedback", "prompt", "prompt-file", "repo", "resume", "rootful", "set", "times",
}

// IsRunFlag reports whether name is a flag of `aibox run` itself.
func IsRunFlag(name string) bool {
	_, isSetting := spec.Lookup((*config.Run)(nil), name)
	return isSetting || slices.Contains(ownFlags, name)
}

// ownKeys has the user's variables for keys of model servers, and the other variables that
// select an account there. The gateway sends these keys; they never enter a sandbox.
var ownKeys = []string{
	"AIBOX_INFERENCE_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY",
	"AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION", "AZURE_OPENAI_API_KEY",
	"GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION",
	"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
}

// checkReserved rejects an option that uses a flag, a variable or a key of aibox.
func (r *reader) checkReserved(path string, def spec.Definition) {
	if IsRunFlag(def.Key) {
		r.fail(path+".key", "%q is a flag of `aibox run` itself", def.Key).Hint = "choose another key, such as \"own-" + def.Key + "\""
	}
	env := def.Tags["env"]
	if def.Type == spec.Secret.String() && slices.Contains(ownKeys, env) {
		r.fail(path+".env", "%s holds the key of your model server, which never enters a sandbox", env).Hint = "give the agent the placeholder instead, which aibox replaces: [env] and " + env + ` = "{key}"`
		return
	}
	r.variable(path+".env", env)
}

// variable rejects a variable that aibox uses or that would affect its programs.
func (r *reader) variable(at, name string) {
	switch {
	case name == "PATH":
		r.fail(at, "PATH is set by the image").Hint = `set ENV PATH=… in the recipe, or use the program's full path in [command]`
	case name == "HOME":
		r.fail(at, "HOME is set by aibox, which puts files and conversations there").Hint = "leave it out"
	case strings.HasPrefix(name, "LD_"):
		r.fail(at, "%s would affect every program in the sandbox, including aibox's", name).Hint = `set it for one program only: ["env", "` + name + `=…", "my-bot"]`
	case strings.HasPrefix(name, "AIBOX_"):
		r.fail(at, "names that start with AIBOX_ are reserved").Hint = "choose another name"
	}
}
