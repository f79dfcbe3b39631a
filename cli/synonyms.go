package cli

// synonyms maps names that commands have in other tools to the names they have here. An
// unknown command that is one of them gets the other as a suggestion, where it exists.
var synonyms = map[string][]string{
	"apply":    {"accept"},
	"build":    {"bake"},
	"check":    {"doctor", "verify"},
	"clean":    {"gc"},
	"connect":  {"attach"},
	"continue": {"run"},
	"delete":   {"rm", "revoke"},
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
	"resume":   {"run"},
	"rm":       {"revoke"},
	"setup":    {"doctor"},
	"start":    {"run", "create"},
	"status":   {"ls"},
	"tail":     {"logs"},
	"undo":     {"recover"},
	"view":     {"show"},
}
