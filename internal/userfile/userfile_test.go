package userfile

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"testing"
)

// settings describes a settings file of this user with a group.
type settings struct {
	fs.FileInfo
	gid int
}

func (settings) Mode() fs.FileMode { return 0o664 }

func (s settings) Sys() any {
	return &syscall.Stat_t{Uid: uint32(os.Getuid()), Gid: uint32(s.gid)}
}

func TestOnlyTheUsersOwnGroupMayWriteToSettings(t *testing.T) {
	before, beforeGroup := lookUp, lookUpGroup
	t.Cleanup(func() { lookUp, lookUpGroup = before, beforeGroup })
	lookUpGroup = func(gid string) (*user.Group, error) {
		return &user.Group{Gid: gid, Name: map[string]string{"70001": "ann", "70002": "developers"}[gid]}, nil
	}
	uid := os.Getuid()
	for _, test := range []struct {
		name          string
		primary, file int
		accepted      bool
	}{
		{"the group has the number of the user", uid, uid, true},
		{"the group has the name of the user", 70001, 70001, true},
		{"the group of the account is shared", 70002, 70002, false},
		{"the file has another group", 70001, 70002, false},
		{"another group has the number of the user", 70002, uid, false},
	} {
		lookUp = func(uid string) (*user.User, error) {
			return &user.User{Uid: uid, Gid: strconv.Itoa(test.primary), Username: "ann"}, nil
		}
		if err := CheckSettings(settings{gid: test.file}, "config.toml"); (err == nil) != test.accepted {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	lookUp = func(string) (*user.User, error) { return nil, errors.New("unknown") }
	if err := CheckSettings(settings{gid: 70001}, "config.toml"); err == nil {
		t.Error("the group of a user without an account was taken for the user's own")
	}
}
