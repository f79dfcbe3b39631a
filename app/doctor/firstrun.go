package health

import (
	"fmt"
	"slices"
)

// Step is one thing between a new user and their first run.
type Step struct {
	Part   Part
	State  State  // "" while it is looked at
	Detail string // why it is not done, or what there is
	Mend   string // as in Finding
}

// Path is the way to a first run: Docker with what it needs, an image, a model.
// looking says which parts still have a check under way. What is only a warning keeps
// nobody from running, but for a model: without one an agent has nobody to talk to.
func Path(found []Finding, looking func(Part) bool) []Step {
	docker := ground(found, looking)
	image := images(found, looking(Docker) || looking(Images))
	if docker.State == Missing { // nobody can know
		image = Step{Part: Images, Detail: "after Docker"}
	}
	return []Step{docker, image, model(found, looking(Model))}
}

// ground is whether boxes can be started at all.
func ground(found []Finding, looking func(Part) bool) Step {
	step := Step{Part: Docker}
	for _, f := range found {
		if f.State == Missing && f.Part != Images && f.Part != Model {
			if step.State != Missing || step.Mend == "" {
				step.State, step.Detail, step.Mend = Missing, f.Name+": "+f.Detail, f.Mend
			}
		}
	}
	if step.State == "" && !looking(Tools) && !looking(Machine) && !looking(Docker) {
		step.State = OK
		if i := slices.IndexFunc(found, func(f Finding) bool { return f.Part == Docker }); i >= 0 {
			step.Detail = found[i].Detail
		}
	}
	return step
}

// images is whether an agent has an image. The base alone runs none.
func images(found []Finding, looking bool) Step {
	step := Step{Part: Images}
	if looking {
		return step
	}
	step.State, step.Detail = Missing, "none is baked yet"
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

// model is whether there is somebody to talk to.
func model(found []Finding, looking bool) Step {
	step := Step{Part: Model}
	for _, f := range found {
		if f.Part == Model && !looking {
			step.State, step.Detail, step.Mend = f.State, f.Detail, f.Mend
		}
	}
	return step
}
