package spec

import "testing"

func TestANumberOfThingsOfWhichZeroIsNoneCanOnlyBeLowered(t *testing.T) {
	fields, err := Of(&struct {
		Things int `label:"Things" help:"Have things" min:"0" max:"9" zero:"none" scope:"at-most"`
		Limit  int `label:"Limit" help:"Limit things" min:"0" max:"9" scope:"at-most"`
	}{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now, next     any
		things, limit bool
	}{
		{int64(0), int64(3), false, true},
		{nil, int64(1), false, true},
		{int64(3), int64(0), true, false},
		{int64(3), int64(2), true, true},
		{int64(3), int64(4), false, false},
		{int64(3), int64(3), true, true},
		{int64(3), int64(-1), true, false},
		{int64(0), int64(0), true, true},
	} {
		if things, limit := fields[0].Tightens(c.now, c.next) == nil, fields[1].Tightens(c.now, c.next) == nil; things != c.things || limit != c.limit {
			t.Errorf("from %v to %v: things %v, limit %v", c.now, c.next, things, limit)
		}
	}
}

func TestTheKeyZeroIsForNumbersThatARepositoryCanLower(t *testing.T) {
	for _, bad := range []any{
		&struct {
			A int `label:"A" help:"A" zero:"all" scope:"at-most"`
		}{},
		&struct {
			A int `label:"A" help:"A" zero:"none"`
		}{},
		&struct {
			A bool `label:"A" help:"A" zero:"none" scope:"at-most"`
		}{},
	} {
		if _, err := Of(bad); err == nil {
			t.Errorf("%T is accepted", bad)
		}
	}
}
