<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_US" sourcelanguage="en">
<context>
    <name>palimpsest::ui::Composer</name>
    <message numerus="yes">
        <source>and %n more</source>
        <translation>
            <numerusform>and %n more</numerusform>
            <numerusform>and %n more</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::DocumentPage</name>
    <message numerus="yes">
        <source>%n token(s)</source>
        <translation>
            <numerusform>%n token</numerusform>
            <numerusform>%n tokens</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::DocumentPainter</name>
    <message numerus="yes">
        <source>%n token(s) of framing</source>
        <translation>
            <numerusform>%n token of framing</numerusform>
            <numerusform>%n tokens of framing</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::FindBar</name>
    <message numerus="yes">
        <source>%n match(es)</source>
        <translation>
            <numerusform>%n match</numerusform>
            <numerusform>%n matches</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::LibraryModel</name>
    <message numerus="yes">
        <source>%n session(s)</source>
        <translation>
            <numerusform>%n session</numerusform>
            <numerusform>%n sessions</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::LibraryView</name>
    <message numerus="yes">
        <source>%n place(s) found</source>
        <translation>
            <numerusform>%n place found</numerusform>
            <numerusform>%n places found</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>The first %n place(s)</source>
        <translation>
            <numerusform>The first place (%n)</numerusform>
            <numerusform>The first %n places</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>(%n damaged text(s) left out)</source>
        <translation>
            <numerusform>(%n damaged text left out)</numerusform>
            <numerusform>(%n damaged texts left out)</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MessageLayout</name>
    <message numerus="yes">
        <source>Show all %n line(s)</source>
        <translation>
            <numerusform>Show %n line</numerusform>
            <numerusform>Show all %n lines</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::StatusLine</name>
    <message numerus="yes">
        <source>%n waiting</source>
        <translation>
            <numerusform>%n waiting</numerusform>
            <numerusform>%n waiting</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::TurnList</name>
    <message numerus="yes">
        <source>%1 of %2 tokens read</source>
        <translation>
            <numerusform>%1 of %2 tokens read</numerusform>
            <numerusform>%1 of %2 tokens read</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 kept per head</source>
        <translation>
            <numerusform>%1 kept per head</numerusform>
            <numerusform>%1 kept per head</numerusform>
        </translation>
    </message>
</context>
</TS>
