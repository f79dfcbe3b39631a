// Package firstrun defines what a new user chooses before the first session: an agent and
// its model. It is data only; package app finds the choices.
package firstrun

// Agent is an agent that can run on this machine.
type Agent struct {
	Name, Title, Summary string
	Image                string // its name, without tag
	Default              bool   // the suggested one
}

// Server is a model server, or a vendor with models.
type Server struct {
	Inference string   // the setting that selects it
	Title     string   // its name for the user
	Local     bool     // the server answers on this machine
	Models    []string // the models that it lists, raw; only for a local server
	KeyName   string   // the variable with its key; empty for none
	HasKey    bool     // the key is known
	Typed     bool     // the key was typed, so it is lost when the program ends
	Problem   error    // why the agent cannot use it; nil if it can
}

// NeedsKey reports whether the user has to type a key first.
func (s Server) NeedsKey() bool { return s.KeyName != "" && !s.HasKey && !s.Local }

// Models are the models to choose from.
type Models struct {
	Current Model // the model of a run without any choice; the zero value if there is none
	Servers []Server
}

// Model is a model that a run can use.
type Model struct {
	Inference string // the setting that selects its server; empty for the user's settings
	Name      string // raw; empty if the server has only one
	Title     string // title of its server
}

// Scripted is the value of the setting inference for the built-in script.
const Scripted = "scripted"
