package doctor

import (
	"fmt"
	"slices"
)

// Step is one step towards a first run.
type Step struct {
	Part   Part
	State  State  // "" while it is being checked
	Detail string // why it is not done, or what there is
	Fix    string // as in Finding
}

// FirstRun returns the steps to a first run: Docker with its requirements, an image, a
// model. checking reports which parts still have a check in progress. A warning does not
// prevent a run, except for the model: without one an agent cannot work.
func FirstRun(found []Finding, checking func(Part) bool) []Step {
	docker := dockerStep(found, checking)
	image := imageStep(found, checking(Docker) || checking(Images))
	if docker.State == Missing { // unknown without a daemon
		image = Step{Part: Images, Detail: "after Docker"}
	}
	return []Step{docker, image, modelStep(found, checking(Model))}
}

// dockerStep reports whether sandboxes can be started at all.
func dockerStep(found []Finding, checking func(Part) bool) Step {
	step := Step{Part: Docker}
	for _, f := range found {
		if f.State == Missing && f.Part != Images && f.Part != Model {
			if step.State != Missing || step.Fix == "" {
				step.State, step.Detail, step.Fix = Missing, f.Name+": "+f.Detail, f.Fix
			}
		}
	}
	if step.State == "" && !checking(Tools) && !checking(Machine) && !checking(Docker) {
		step.State = OK
		if i := slices.IndexFunc(found, func(f Finding) bool { return f.Part == Docker }); i >= 0 {
			step.Detail = found[i].Detail
		}
	}
	return step
}

// imageStep reports whether an agent has an image. The base image alone runs none.
func imageStep(found []Finding, checking bool) Step {
	step := Step{Part: Images}
	if checking {
		return step
	}
	step.State, step.Detail = Missing, "none has been baked yet"
	baked := 0
	for _, f := range found {
		if f.Agent && f.State == OK {
			baked++
			step.State, step.Detail = OK, f.Image
		}
	}
	if baked > 1 {
		step.Detail = fmt.Sprintf("%d are baked", baked)
	}
	return step
}

// modelStep reports whether there is a model server.
func modelStep(found []Finding, checking bool) Step {
	step := Step{Part: Model}
	for _, f := range found {
		if f.Part == Model && !checking {
			step.State, step.Detail, step.Fix = f.State, f.Detail, f.Fix
		}
	}
	return step
}
