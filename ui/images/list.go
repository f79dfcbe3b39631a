package images

import (
	"slices"

	"aibox/bakery"
	"aibox/ui/widget/cursor"
)

// row is an image, with its bake if there is one.
type row struct {
	bakery.Status
	job *bakery.Job // nil if this program does not bake it
}

// working reports whether the image is queued or being baked.
func (r *row) working() bool { return r.job != nil && !r.job.State.Over() }

// list is the images, with the selected one and the marked ones.
type list struct {
	states []bakery.Status
	jobs   []bakery.Job
	rows   []row
	cursor cursor.Cursor
	at     string // the selected image
	marked map[string]bool
}

// arrange rebuilds the rows, of which height are shown. The selected image stays selected.
func (l *list) arrange(height int) {
	l.rows = l.rows[:0]
	for _, s := range l.states {
		l.rows = append(l.rows, row{Status: s, job: l.jobOf(s.Name)})
	}
	for i := range l.jobs { // bakes of images that are not listed
		if job := &l.jobs[i]; !slices.ContainsFunc(l.states, func(s bakery.Status) bool { return s.Name == job.Name }) {
			l.rows = append(l.rows, row{Status: bakery.Status{Name: job.Name}, job: job})
		}
	}
	l.cursor.Fit(len(l.rows), height)
	if i := slices.IndexFunc(l.rows, func(r row) bool { return r.Name == l.at }); i >= 0 {
		l.cursor.Go(i)
	}
	l.keepSelection()
}

// jobOf returns the bake of an image, or nil.
func (l *list) jobOf(name string) *bakery.Job {
	for i := range l.jobs {
		if l.jobs[i].Name == name {
			return &l.jobs[i]
		}
	}
	return nil
}

// keepSelection remembers the image at the cursor.
func (l *list) keepSelection() {
	if r := l.current(); r != nil {
		l.at = r.Name
	}
}

// current returns the selected image, or nil.
func (l *list) current() *row {
	if l.cursor.At() >= len(l.rows) {
		return nil
	}
	return &l.rows[l.cursor.At()]
}

// targets returns the images that a key applies to: the marked ones, else the selected one.
func (l *list) targets() []string {
	var names []string
	for _, r := range l.rows {
		if l.marked[r.Name] {
			names = append(names, r.Name)
		}
	}
	if r := l.current(); len(names) == 0 && r != nil {
		names = []string{r.Name}
	}
	return names
}

// outdated returns the images that are missing or do not match their recipes.
func (l *list) outdated() []string {
	var names []string
	for _, r := range l.rows {
		if r.State != bakery.Fresh && !r.working() {
			names = append(names, r.Name)
		}
	}
	return names
}

// baking returns how many images are queued or being baked.
func (l *list) baking() int { return len(l.jobs) - ended(l.jobs) }

func ended(jobs []bakery.Job) int {
	n := 0
	for _, j := range jobs {
		if j.State.Over() {
			n++
		}
	}
	return n
}

// toBake returns those of the named images that a bake would build: images that are not
// being baked, and not fresh unless force is set. working reports whether any is being
// baked.
func (l *list) toBake(names []string, force bool) (build []string, working bool) {
	for _, r := range l.rows {
		if !slices.Contains(names, r.Name) {
			continue
		}
		working = working || r.working()
		if !r.working() && (force || r.State != bakery.Fresh) {
			build = append(build, r.Name)
		}
	}
	return build, working
}

// mark marks or unmarks the selected image and selects the next one.
func (l *list) mark() {
	if l.marked[l.at] {
		delete(l.marked, l.at)
	} else {
		l.marked[l.at] = true
	}
	l.cursor.Go(l.cursor.At() + 1)
	l.keepSelection()
}

// markAll marks all images, or none if any is marked.
func (l *list) markAll() {
	if len(l.marked) > 0 {
		clear(l.marked)
		return
	}
	for _, r := range l.rows {
		l.marked[r.Name] = true
	}
}
