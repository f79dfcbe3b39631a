package doctor

import "slices"

// Readiness is whether sandboxes can be started on this machine.
type Readiness struct {
	State  State  // "" while it is being checked
	Detail string // the reason why they cannot be started, or a summary
	Fix    string // as in Finding
}

// Ready summarizes the findings about the requirements of sandboxes, except for images and
// a model. checking reports which parts still have a check in progress. A warning does not
// prevent a run.
func Ready(found []Finding, checking func(Part) bool) Readiness {
	var r Readiness
	for _, f := range found {
		if f.State == Missing && f.Part != Images && f.Part != Model {
			if r.State != Missing || r.Fix == "" {
				r = Readiness{Missing, f.Name + ": " + f.Detail, f.Fix}
			}
		}
	}
	if r.State == "" && !checking(Tools) && !checking(Machine) && !checking(Docker) {
		r.State = OK
		if i := slices.IndexFunc(found, func(f Finding) bool { return f.Part == Docker }); i >= 0 {
			r.Detail = found[i].Name + " " + found[i].Detail
		}
	}
	return r
}
