package probe

import "os"

// askWrite tries to open the file for writing, or to make a file in the folder, which it then
// removes.
func askWrite(target string) (string, error) {
	info, err := os.Stat(target)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		file, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return "", err
		}
		return "it can be opened for writing", file.Close()
	}
	file, err := os.CreateTemp(target, ".aibox-probe-")
	if err != nil {
		return "", err
	}
	_ = file.Close()
	return "a file can be made there", os.Remove(file.Name())
}
