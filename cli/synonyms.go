package cli

// synonyms maps names that commands have in other tools to the names they have here. An
// unknown command that is one of them gets the other as a suggestion, where it exists. A
// name may be followed by a flag.
var synonyms = map[string][]string{
	"apply":    {"accept"},
	"build":    {"bake"},
	"check":    {"doctor", "verify"},
	"clean":    {"gc"},
	"commit":   {"accept"},
	"connect":  {"attach"},
	"continue": {"run --resume", "resume"},
	"delete":   {"rm", "revoke"},
	"destroy":  {"rm"},
	"drop":     {"discard"},
	"get":      {"show"},
	"init":     {"doctor"},
	"kill":     {"stop", "rm"},
	"list":     {"ls"},
	"log":      {"logs"},
	"merge":    {"accept"},
	"new":      {"create", "run"},
	"output":   {"logs"},
	"prune":    {"gc"},
	"remove":   {"rm", "revoke"},
	"restore":  {"recover"},
	"resume":   {"run --resume"},
	"rm":       {"revoke"},
	"setup":    {"doctor"},
	"start":    {"run", "create"},
	"status":   {"ls"},
	"tail":     {"logs"},
	"undo":     {"recover"},
	"view":     {"show"},
}
