package main

// configCommand has the commands about the configuration.
type configCommand struct {
	Print configPrintCommand `cmd:"" help:"Print the configuration in force, with the meaning of every key."`
}

// configPrintCommand prints what serve would run with.
type configPrintCommand struct {
	settings
}

// Run prints the configuration as TOML, secrets masked.
func (c *configPrintCommand) Run(p *process) error {
	cfg, err := c.load(p)
	if err != nil {
		return err
	}
	return cfg.WriteTOML(p.stdout)
}
