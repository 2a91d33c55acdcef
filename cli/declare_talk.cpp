// The flags of say, chat, approve, deny, mcp and acp.
#include "cli/declare.hpp"

namespace quell::cli {
namespace {

template <class Options>
void conversation_fields(CLI::App& app, Options& o) {
  add_scope(app, "--scope", o.scope, "the conversation (default: QUELL_SCOPE, chat/USER)");
  add_text(app, "--agent", o.agent, "who answers (default: the agent that serves the scope)")->type_name("NAME");
  add_text(app, "--during-turn", o.during_turn,
           "if a turn runs: queue (wait behind it), steer (tell it before its next model call), supersede (stop it), "
           "answer (what it asks with ask_user) (default: answer if it asks, else as its agent is configured)")
      ->type_name("HOW")
      ->check(CLI::IsMember({"queue", "steer", "supersede", "answer"}));
  add_duration(app, "--reconnect", o.reconnect,
               "how long to try when contact with the controller is lost (default 60s)");
}

void say_fields(CLI::App& app, say_options& o) {
  conversation_fields(app, o);
  app.add_flag("-d,--detach,--no-wait", o.no_wait, "print the turn's id and return");
  add_text(app, "--model", o.model, "another of the agent's models, for this turn")->type_name("NAME");
  add_text(app, "--tools", o.tools, "all that this turn may use of the agent's tools; none = no tools")
      ->type_name("NAME,…|none");
  add_text(app, "--parent", o.parent, "the operation that the turn hangs below, and ends with")->type_name("ID");
  add_words(app, "TEXT", o.words, "what to say; - = standard input");
}

void decision_fields(CLI::App& app, approve_options& o) {
  app.add_option("ID", o.id, "the call that waits: quell ps --status paused")->required();
  add_text(app, "--reason", o.reason, o.approve ? "why, for the record" : "why; the model reads it");
  add_text(app, "--question", o.question, "what a call asks that has begun: quell show says which")->type_name("ID");
  if (o.approve) {
    add_pairs(app, "--set", o.values, "a value for the question; left out ones get their defaults");
    add_text(app, "--input", o.input,
             "run the call with this input instead, a JSON object; @FILE reads it from a file, @- from standard input")
        ->type_name("JSON|@FILE");
    add_duration(app, "--always", o.always,
                 "this exact call of its agent needs no human here for so long, at most 30d: quell approvals list");
  } else {
    app.add_flag("--dismiss", o.dismiss, "answer the question with neither yes nor no");
  }
}

void declare_approvals(declaration& d) {
  auto& group = *d.app.add_subcommand("approvals", "Calls that approvers have allowed for good");
  group.require_subcommand(1);
  d.command<approvals_list_options>(group, "list", "The calls that need no human any more, and until when",
                                    [](CLI::App&, approvals_list_options&) {});
  d.command<approvals_revoke_options>(
      group, "revoke", "Let a human be asked again",
      [](CLI::App& app, approvals_revoke_options& o) { app.add_option("ID", o.id, "standing approval")->required(); });
}

/// One change of a conversation: `also` adds the flags and words of its own.
template <class Also>
void declare_change(declaration& d, CLI::App& group, const std::string& action, const std::string& summary, Also also) {
  d.command<history_options>(group, action, summary, [&](CLI::App& app, history_options& o) {
    o.action = action;
    app.add_option("SCOPE", o.scope, "the conversation")->required();
    also(app, o);
    if (action != "show")
      add_text(app, "--expect", o.expect, "the seq or the id of the newest message that you saw; refused if another is")
          ->type_name("SEQ|ID");
  });
}

void declare_history(declaration& d) {
  auto& group = *d.app.add_subcommand("history", "Read and change a conversation");
  group.require_subcommand(1);
  const auto nothing = [](CLI::App&, history_options&) {};
  const auto message = [](CLI::App& app, history_options& o) {
    app.add_option("MESSAGE", o.id, "its id, or the end of it: quell history show SCOPE")->required();
  };
  declare_change(d, group, "show", "The newest messages with their ids", [](CLI::App& app, history_options& o) {
    app.add_option("--limit", o.limit, "how many (default 20)")->check(CLI::Range(1, 1000))->type_name("N");
  });
  declare_change(d, group, "clear", "Begin afresh: nothing of before is read any more", nothing);
  declare_change(d, group, "compact", "Let the model write a summary of the older part, and wait for it", nothing);
  declare_change(d, group, "retry", "Ask the last question again; its answer is replaced", nothing);
  declare_change(d, group, "edit", "Replace a message of a person; what followed goes",
                 [&](CLI::App& app, history_options& o) {
                   message(app, o);
                   add_words(app, "TEXT", o.words, "the new text");
                 });
  declare_change(d, group, "delete", "Take a message out, with all that answered it", message);
  declare_change(d, group, "fork", "Copy the conversation to a scope that has none",
                 [](CLI::App& app, history_options& o) { app.add_option("TO", o.to, "the other scope")->required(); });
}

void talk_fields(CLI::App& app, talk_options& o) {
  add_scope(app, "--scope", o.scope, "the conversation (default: QUELL_SCOPE, chat/USER)");
  add_text(app, "--voice", o.voice,
           "the voice gateway (default: that of the quelld on this machine); tls://HOST:PORT with TLS, tcp://HOST:PORT "
           "without (default: as for HTTP)")
      ->type_name("HOST:PORT");
  add_text(app, "--file", o.file, "what is said: a WAV file of 16-bit PCM; its end ends it")->type_name("IN.wav");
  add_text(app, "--out", o.out, "what reached the speaker, with --file")->type_name("OUT.wav");
  auto* push = app.add_flag("--push-to-talk", o.push_to_talk, "a key begins and ends talking (default)");
  app.add_flag("--open", o.open, "the microphone is always on")->excludes(push);
  add_text(app, "--talk-key", o.talk_key,
           "begins and ends talking (default space); KEY_F9, or KEY_F9@DEVICE: a key of the keyboard, talks while it "
           "is held")
      ->type_name("KEY");
  add_text(app, "--cancel-key", o.cancel_key, "cancels beside Esc and 4, for example x, KEY_F10 or KEY_F10@DEVICE")
      ->type_name("KEY");
  add_duration(app, "--timeout", o.timeout, "how long to wait for the answer, with --file (default 2m)");
}

void mcp_fields(CLI::App& app, mcp_options& o) {
  add_scope(app, "--scope", o.scope, "where it works; required unless there is a parent");
  add_text(app, "--parent", o.parent, "the operation that it belongs to, or none (default: QUELL_OPERATION)")
      ->type_name("ID");
  add_duration(app, "--lease", o.lease,
               "what it started is cancelled when the controller hears nothing from it for so long (default 30s)");
}

void acp_fields(CLI::App& app, acp_options& o) {
  add_scope(app, "--scope", o.scope, "sessions lie below SCOPE/acp (default: QUELL_SCOPE, chat/USER)");
  add_text(app, "--agent", o.agent, "the first mode of a session (default: the agent that serves the scope)")
      ->type_name("NAME");
  add_duration(app, "--reconnect", o.reconnect,
               "how long to try when contact with the controller is lost (default 60s)");
}

} // namespace

void declare_talk(declaration& d) {
  d.command<say_options>(d.app, "say", "Say something to an agent and stream its answer", say_fields);
  d.command<chat_options>(d.app, "chat", "Talk with an agent", conversation_fields<chat_options>);
  declare_history(d);
  d.command<talk_options>(d.app, "talk", "Talk with an agent by voice", talk_fields);
  d.command<approve_options>(d.app, "approve", "Let a call run that waits for a human", decision_fields);
  d.command<approve_options>(d.app, "deny", "Refuse a call that waits for a human",
                             [](CLI::App& app, approve_options& o) {
                               o.approve = false;
                               decision_fields(app, o);
                             });
  declare_approvals(d);
  auto* mcp =
      d.command<mcp_options>(d.app, "mcp", "Serve an AI agent over MCP on standard input and output", mcp_fields);
  d.command<acp_options>(d.app, "acp", "Serve an editor over ACP on standard input and output", acp_fields);
  const auto add_server = [](CLI::App& app, std::string& name) {
    app.add_option("NAME", name, "MCP server: quell mcp list")->required();
  };
  d.command<mcp_login_options>(*mcp, "login", "Log quelld in at an MCP server, with a browser",
                               [&](CLI::App& app, mcp_login_options& o) {
                                 add_server(app, o.name);
                                 app.add_flag("--no-browser", o.no_browser, "print the address instead of opening it");
                               });
  d.command<mcp_logout_options>(*mcp, "logout", "Forget the login at an MCP server",
                                [&](CLI::App& app, mcp_logout_options& o) { add_server(app, o.name); });
  d.command<mcp_list_options>(*mcp, "list", "The configured MCP servers, and the logins there",
                              [](CLI::App&, mcp_list_options&) {});
}

} // namespace quell::cli
