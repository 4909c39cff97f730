//! Reports top-level uses of a global that is bound only further down, before anything of the file runs.
//!
//! Tilt resolves a file from top to bottom: at top level a name is the global or loaded name bound above, or a builtin,
//! or it is undefined. The bodies of functions and comprehensions are resolved against the whole
//! file. The interpreter's own resolver treats all code like a function body, so that the statements before the use
//! would run. Names that the file never binds are left to it.

use std::collections::{HashMap, HashSet};

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{
    AssignIdent, AssignTarget, AstAssignTarget, AstExpr, AstParameter, AstStmt, Expr, Stmt,
};

use crate::source::{ASSERT, Problem, Source};

/// Returns the first use of a global above all its bindings.
pub(crate) fn use_before_binding(
    ast: &AstModule,
    source: &Source,
    is_predeclared: impl Fn(&str) -> bool,
) -> Option<Problem> {
    let mut binders = Bindings::default();
    binders.statement(ast.statement());
    let first_bound = binders.0;
    let mut resolver =
        Resolver { source, is_predeclared, first_bound, bound: HashSet::new(), target: None, problem: None };
    resolver.statement(ast.statement());
    resolver.problem
}

/// Where each name of the file is bound first.
#[derive(Default)]
struct Bindings<'a>(HashMap<&'a str, Span>);

impl<'a> Bindings<'a> {
    fn statement(&mut self, statement: &'a AstStmt) {
        match &statement.node {
            Stmt::Assign(assign) => self.target(&assign.lhs),
            Stmt::AssignModify(target, _, _) => self.target(target),
            Stmt::For(looped) => self.target(&looped.var),
            Stmt::Def(def) => self.bind(&def.name, def.name.span),
            Stmt::Load(load) => {
                load.args.iter().for_each(|argument| self.bind(&argument.local, argument.local.span));
            }
            _ => {}
        }
        if !matches!(statement.node, Stmt::Def(_)) {
            statement.visit_stmt(|inner| self.statement(inner));
        }
    }

    fn target(&mut self, target: &'a AstAssignTarget) {
        target.visit_lvalue(|name| self.bind(name, name.span));
    }

    fn bind(&mut self, name: &'a AssignIdent, span: Span) {
        self.0.entry(&name.ident).or_insert(span);
    }
}

struct Resolver<'a, P> {
    source: &'a Source,
    is_predeclared: P,
    first_bound: HashMap<&'a str, Span>,
    /// Bound above.
    bound: HashSet<&'a str>,
    /// In the user's text, what the assignment binds whose right side is being resolved.
    target: Option<(usize, usize)>,
    problem: Option<Problem>,
}

impl<'a, P: Fn(&str) -> bool> Resolver<'a, P> {
    fn statement(&mut self, statement: &'a AstStmt) {
        match &statement.node {
            Stmt::Expression(value) | Stmt::Return(Some(value)) => self.expression(value),
            Stmt::Assign(assign) => {
                if let AssignTarget::Identifier(name) = &assign.lhs.node {
                    self.target = Some(self.original(name.span));
                }
                self.expression(&assign.rhs);
                self.target = None;
                self.bind_target(&assign.lhs);
            }
            // Not a use: whether the name has a value is checked at run time.
            Stmt::AssignModify(target, _, value) => {
                self.expression(value);
                self.bind_target(target);
            }
            Stmt::Statements(statements) => statements.iter().for_each(|inner| self.statement(inner)),
            Stmt::If(condition, then) => {
                self.expression(condition);
                self.statement(then);
            }
            Stmt::IfElse(condition, branches) => {
                self.expression(condition);
                self.statement(&branches.0);
                self.statement(&branches.1);
            }
            Stmt::For(looped) => {
                self.expression(&looped.over);
                self.bind_target(&looped.var);
                self.statement(&looped.body);
            }
            Stmt::Def(def) => {
                self.bound.insert(&def.name.ident);
                self.defaults(&def.params);
            }
            Stmt::Load(load) => {
                self.bound.extend(load.args.iter().map(|argument| argument.local.ident.as_str()));
            }
            Stmt::Return(None) | Stmt::Break | Stmt::Continue | Stmt::Pass => {}
        }
    }

    /// Resolves what a target reads, as in `x[i] = …`, and binds its names.
    fn bind_target(&mut self, target: &'a AstAssignTarget) {
        match &target.node {
            AssignTarget::Tuple(targets) => targets.iter().for_each(|target| self.bind_target(target)),
            AssignTarget::Index(parts) => {
                self.expression(&parts.0);
                self.expression(&parts.1);
            }
            AssignTarget::Dot(value, _) => self.expression(value),
            AssignTarget::Identifier(name) => drop(self.bound.insert(&name.ident)),
        }
    }

    /// Default values are evaluated where the function is defined.
    fn defaults(&mut self, parameters: &'a [AstParameter]) {
        parameters
            .iter()
            .filter_map(|parameter| parameter.split().2)
            .for_each(|value| self.expression(value));
    }

    fn expression(&mut self, expression: &'a AstExpr) {
        match &expression.node {
            Expr::Identifier(name) => self.name(&name.ident, name.span),
            Expr::Lambda(lambda) => self.defaults(&lambda.params),
            // Only the first operand is resolved outside of the comprehension.
            Expr::ListComprehension(_, first, _) | Expr::DictComprehension(_, first, _) => {
                self.expression(&first.over);
            }
            other => other.visit_expr(|inner| self.expression(inner)),
        }
    }

    fn name(&mut self, name: &str, span: Span) {
        let Some(binding) = self.first_bound.get(name) else { return };
        if self.problem.is_some() || self.bound.contains(name) || (self.is_predeclared)(name) {
            return;
        }
        let (start, end) = self.original(span);
        // The front end expands `x *= y`, so `x` is on both sides.
        if self.target == Some((start, end)) {
            return;
        }
        let (line, _) = self.source.line_and_column(self.original(*binding).0);
        let name = if name == ASSERT { "assert" } else { name };
        self.problem = Some(Problem {
            range: start..end,
            message: format!("undefined: {name}"),
            hint: Some(format!("{name} is defined further down, in line {line}")),
        });
    }

    fn original(&self, span: Span) -> (usize, usize) {
        self.source.original_range(span.begin().get() as usize, span.end().get() as usize)
    }
}
